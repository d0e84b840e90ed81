/** The services that the payment code uses: response log, facilitator, chain, clock, timer and report. */
import type { FacilitatorClient } from '@x402/core/server'
import type { ResponseLog } from '../../store/responses.ts'
import type { Report, Timer } from '../../store/runtime.ts'
import type { ReceiptClaims } from '../receipt/claims.ts'
import type { Chain } from './chain.ts'
import type { Denials } from './denials.ts'
import type { RecentReadings } from './recent-readings.ts'

/** Adds the issuer and signs with the current key. */
export type SignReceipt = (claims: Omit<ReceiptClaims, 'iss'>) => Promise<string>

export interface PaymentServices {
  log: ResponseLog
  facilitator: FacilitatorClient
  chain: Chain
  denials: Denials
  /** For retries of payments with an unknown outcome. */
  readings: RecentReadings
  signReceipt: SignReceipt
  now: () => Date
  /** Schedules the time limit of facilitator calls. */
  timer: Timer
  report: Report
}
