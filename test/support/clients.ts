/** Clients of requests that do not come over HTTP, and the clients of a test server. */
import { Clients } from '../../agent/transport/http/clients.ts'
import { AddressBudgets } from '../../agent/sale/limits/address-budget.ts'
import type { Client } from '../../agent/sale/limits/address-budget.ts'

const clock = () => performance.now()

/** Budgets that no test spends. */
const ampleBudgets = () => new AddressBudgets({ perMinute: 1_000_000, clock })

export function makeClient(address = '192.0.2.1', budgets = ampleBudgets()): Client {
  const budget = budgets.enter(address)
  // Only the HTTP server knows when a request ends, so none counts as in progress.
  budget.leave()
  return { address, budget, keepConnectionOpen: () => undefined }
}

/** For an application without a server of its own. */
export function makeClients({ budgets }: { budgets?: () => AddressBudgets } = {}): Clients {
  const ample = ampleBudgets()
  const options = { trustedProxies: 0, keepOpen: () => undefined, report: () => undefined }
  return new Clients({
    ...options,
    get budgets() {
      return budgets?.() ?? ample
    },
  })
}
