/** The shop of the benchmarks: the real application over a seller whose facilitator and chain answer at once. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CompanyAgentExecutor } from '../../agent/executor/agent-executor.ts'
import { createApp } from '../../rest-facade/app.ts'
import { expressMessages } from '../../rest-facade/messages.ts'
import { testTerms } from '../support/payments.ts'
import { TestSeller } from '../support/seller.ts'

/** A company of the tests' register. */
export const LOOKUP_PATH = '/api/v1/company/73848'

/** With the tests' register imported and no rate limit worth the name. */
export async function openShop(): Promise<TestSeller> {
  const shop = await TestSeller.open()
  shop.limitTo(Number.MAX_SAFE_INTEGER)
  await shop.import()
  return shop
}

/** The server as the service makes it. */
export function serverOf({ seller }: TestSeller): Server {
  const baseUrl = 'http://127.0.0.1:4021'
  const executor = new CompanyAgentExecutor({ seller, baseUrl, help: '' })
  const facts = {
    version: '0.1.0',
    terms: testTerms,
    onSale: executor.onSale,
    rateLimitPerMinute: 120,
    catalog: seller.catalog,
    now: () => new Date(),
  }
  const app = createApp({ executor, baseUrl, facts, jwks: { keys: [] }, pages: new Map(), report: () => undefined })
  const messages = expressMessages()
  messages.adoptBy(app)
  return createServer(messages.options, app)
}

export interface Listening {
  url: string
  port: number
  close(): void
}

export async function listen(server: Server): Promise<Listening> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  function close(): void {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${port}`, port, close }
}
