/** The client of one request, as far as limits are concerned. */
import type { RequestBudget } from './address-budget.ts'

export interface Client {
  /** The network address, from `clientAddress`. */
  address: string
  budget: RequestBudget
  /** The payment of the request is verified or recorded, so its connection is not closed for other connections. */
  prove: () => void
}
