/** The types of a sale: its fixed context and the request. */
import type { Catalog } from '../../store/dataset/catalog.ts'
import type { Journal } from '../../store/history/journal.ts'
import type { Operation } from '../operation/operation.ts'
import type { Refusal } from '../operation/refusal.ts'
import type { SettlementServices } from '../settlement/services.ts'
import type { Terms } from '../payment/terms.ts'
import type { Client } from './limits/address-budget.ts'
import type { KeyedMutex } from './limits/keyed-mutex.ts'
import type { PayerReservations } from './limits/payer-reservations.ts'
import type { SalesLimit } from './limits/sales-limit.ts'
import type { WorkQueue } from './limits/work-queue.ts'

/** Created once per service. */
export interface SaleContext {
  terms: Terms
  catalog: Pick<Catalog, 'current' | 'retrieval'>
  /** Throws a StoreError if there is no journal. */
  journal: () => Journal
  services: SettlementServices
  /** Runs the calls to node and facilitator for payments that are not verified yet. */
  verifications: WorkQueue
  /** Computes one answer at a time, and of a batch one part after the other. */
  computations: WorkQueue
  sales: SalesLimit
  /** The amounts of verified payments that are not settled yet. */
  payers: PayerReservations
  /** Sales and chain reads for the same payload run one at a time. The key is the hash of the payload. */
  paymentMutex: KeyedMutex
  stopSignal: AbortSignal
}

export interface SaleRequest {
  operation: Operation
  /** All `PAYMENT-SIGNATURE` headers, undecoded. */
  paymentHeaders: readonly string[]
  /** The REST resource that a quote names. */
  resourceUrl: string
  client: Client
  /** For the log. */
  requestId?: string | undefined
  /** The verified payments that the transport sells at once. Absent if it has no limit. */
  calls?: WorkQueue
  /** Why the transport does not sell this operation. A payment with a record still gets its stored answer. */
  transportRefusal?: Refusal | undefined
}
