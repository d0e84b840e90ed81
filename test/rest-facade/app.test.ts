/** What the HTTP application does when a part of it fails: our own words, a report, and no more. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { CompanyAgentExecutor } from '../../agent/executor/agent-executor.ts'
import { createApp } from '../../rest-facade/app.ts'
import type { Catalog } from '../../store/catalog.ts'
import { testTerms } from '../support/payments.ts'
import { expectNoLeak, expectRefusal, send } from '../support/raw-http.ts'
import { TestSeller } from '../support/seller.ts'

const MARK = 'a secret of the store'

describe('the HTTP application', () => {
  let seller: TestSeller
  let server: Server
  const reports: string[] = []

  before(async () => {
    seller = await TestSeller.open()
    const baseUrl = 'http://127.0.0.1:4021'
    const executor = new CompanyAgentExecutor({ seller: seller.seller, baseUrl, help: 'help' })
    const current = () => {
      throw new Error(MARK)
    }
    const catalog = { ...seller.seller.catalog, current } as unknown as Catalog
    const { onSale } = executor
    const facts = { version: '0.1.0', terms: testTerms, onSale, rateLimitPerMinute: 120, catalog, now: seller.now }
    const report = (event: string) => void reports.push(event)
    server = createServer(createApp({ executor, baseUrl, facts, jwks: { keys: [] }, pages: new Map(), report }))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  after(async () => {
    await new Promise((resolve) => server.close(resolve))
    await seller.close()
  })

  it('answers 500 internal_error when a route throws, reports it, and says nothing of the cause', async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const reply = await send({ url, path: '/api/v1/meta' })
    expectRefusal(reply, 'internal_error')
    expectNoLeak(reply, MARK)
    expect(reports).to.deep.equal(['request_failed'])
  })
})
