/** The whole application over a sale with a scripted facilitator and chain. */
import { createServer } from 'node:http'
import type { Express } from 'express'
import { CompanyAgentExecutor } from '../../agent/sale/agent-executor.ts'
import { createApp } from '../../rest-facade/app.ts'
import { makeClients } from '../support/clients.ts'
import { listen } from '../support/listen.ts'
import { testTerms } from '../support/payments.ts'
import { manualTimer } from '../support/timers.ts'
import { SaleHarness } from '../support/sale-harness.ts'

export type ScriptedApp = Awaited<ReturnType<typeof startScriptedApp>>

export async function startScriptedApp() {
  const sale = await SaleHarness.open()
  await sale.import()
  const clock = manualTimer()
  const reports: string[] = []
  /** A text that a test can replace. */
  const texts = { help: () => 'help' }
  const report = (event: string) => void reports.push(event)
  // The URL names the port, which is known only after `listen`.
  let listener: Express | undefined
  const server = await listen(createServer((request, response) => void listener?.(request, response)))
  const baseUrl = server.url
  listener = createApp({
    executor: new CompanyAgentExecutor({ context: sale.context, baseUrl, help: () => texts.help() }),
    baseUrl,
    version: '0.1.0',
    terms: testTerms,
    rateLimitPerMinute: 120,
    addressBudget: 300,
    a2aEnabled: true,
    retentionDays: 30,
    catalog: sale.context.catalog,
    journal: sale.context.journal,
    shown: () => ({ exampleCompany: undefined, exampleCompanies: [], statuses: '' }),
    signed: () => new Map(),
    // The budgets of the test, which it can replace.
    clients: makeClients({ budgets: () => sale.budgets }),
    now: () => sale.now(),
    timer: clock.timer,
    report,
  })

  const stop = async () => {
    server.close()
    await sale.close()
  }
  return { url: server.url, app: listener, sale, clock, reports, texts, stop }
}
