/** The whole application over a sale with a scripted facilitator and chain. */
import { createServer } from 'node:http'
import { a2aRoute } from '../../agent/transport/a2a/route.ts'
import { mcpRoute } from '../../agent/transport/mcp/route.ts'
import { openToolList } from '../../agent/payment/tools.ts'
import { CompanyAgentExecutor } from '../../agent/sale/agent-executor.ts'
import { createApp } from '../../rest-facade/app.ts'
import { makeClients } from '../support/clients.ts'
import { listen } from '../support/listen.ts'
import { testTerms } from '../support/payments.ts'
import { manualTimer } from '../support/timers.ts'
import { SaleHarness } from '../support/sale-harness.ts'

const BASE_URL = 'http://127.0.0.1:4021'

export type ScriptedApp = Awaited<ReturnType<typeof startScriptedApp>>

export async function startScriptedApp() {
  const sale = await SaleHarness.open()
  await sale.import()
  const clock = manualTimer()
  const reports: string[] = []
  /** Texts that a test can replace. */
  const texts = { help: () => 'help', serviceInfo: (): object => ({}) }
  const executor = new CompanyAgentExecutor({ context: sale.context, baseUrl: BASE_URL, help: () => texts.help() })
  const facts = { version: '0.1.0', terms: testTerms }
  const report = (event: string) => void reports.push(event)
  // The budgets of the test, which it can replace.
  const clients = makeClients({ budgets: () => sale.budgets })
  // The extension names the port, which is known only after `listen`, so the app is built again.
  let listener = createApp({ ...appOptions(), a2aRoute: route(BASE_URL) })
  const server = await listen(createServer((request, response) => void listener(request, response)))
  listener = createApp({ ...appOptions(), a2aRoute: route(server.url) })

  function appOptions() {
    const tools = openToolList(testTerms, () => '')
    const serviceInfo = () => texts.serviceInfo()
    const options = { executor, baseUrl: BASE_URL, version: '0.1.0', tools, serviceInfo, clients }
    const own = { mcp: mcpRoute({ ...options, timer: clock.timer, report }), report }
    const app = { executor, clients, baseUrl: BASE_URL, signed: () => new Map(), pages: () => new Map(), ...own }
    const { catalog, journal } = sale.context
    return { ...app, facts: { ...facts, rateLimitPerMinute: 120, catalog, journal, now: () => sale.now() } }
  }
  function route(url: string) {
    return a2aRoute({ ...facts, executor, clients, baseUrl: url, timer: clock.timer, report })
  }

  const stop = async () => {
    server.close()
    await sale.close()
  }
  return { url: server.url, sale, clock, reports, texts, stop }
}
