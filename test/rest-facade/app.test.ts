/** The application's answer when a route throws. */
import { createServer } from 'node:http'
import { expect } from 'chai'
import { CompanyAgentExecutor } from '../../agent/sale/agent-executor.ts'
import { createApp } from '../../rest-facade/app.ts'
import { listen, type ListeningServer } from '../support/listen.ts'
import { testTerms } from '../support/payments.ts'
import { expectNoLeak, expectRefusal, send } from '../support/raw-http.ts'
import { makeClients } from '../support/clients.ts'
import { SaleHarness } from '../support/sale-harness.ts'

const SECRET = 'a secret of the store'

describe('the HTTP application', () => {
  let seller: SaleHarness
  let server: ListeningServer
  const reports: string[] = []

  before(async () => {
    seller = await SaleHarness.open()
    const baseUrl = 'http://127.0.0.1:4021'
    const executor = new CompanyAgentExecutor({ context: seller.context, baseUrl, help: () => 'help' })
    const current = () => {
      throw new Error(SECRET)
    }
    const catalog = { retrieval: () => undefined, current }
    const facts = { version: '0.1.0', terms: testTerms, rateLimitPerMinute: 120, catalog, now: seller.now }
    const report = (event: string) => void reports.push(event)
    const clients = makeClients()
    const options = { executor, baseUrl, clients, facts, signed: () => new Map(), pages: () => new Map(), report }
    server = await listen(createServer(createApp(options)))
  })
  after(async () => {
    server.close()
    await seller.close()
  })

  it('[7.1] answers 500 internal_error and reports the cause when a route throws', async () => {
    const reply = await send({ url: server.url, path: '/api/v1/meta' })
    expectRefusal(reply, 'internal_error')
    expectNoLeak(reply, SECRET)
    expect(reports).to.deep.equal(['request_failed'])
  })
})
