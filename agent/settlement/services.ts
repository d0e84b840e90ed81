/** What the payment code uses: response log, facilitator, chain, recent attempts, doubts, clocks, timer and report. */
import type { LogOwnership } from '../../store/log/owner.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import type { Report, Timer } from '../../base/runtime.ts'
import type { Chain } from './chain/chain.ts'
import type { Facilitator } from './facilitator/facilitator.ts'
import type { ReceiptClaims } from '../payment/receipt/claims.ts'
import type { FacilitatorDoubts } from './doubts.ts'
import type { RecentAttempts } from './recent-attempts.ts'

export interface SettlementServices {
  log: ResponseLog
  ownership: LogOwnership
  facilitator: Facilitator
  chain: Chain
  /** Adds the issuer and signs with the current key. Asynchronous, for hardware modules. */
  signReceipt: (claims: Omit<ReceiptClaims, 'iss'>) => Promise<string>
  recentAttempts: RecentAttempts
  doubts: FacilitatorDoubts
  now: () => Date
  /** Milliseconds of a clock that is never set. */
  monotonic: () => number
  /** Schedules the time limit of facilitator calls. */
  timer: Timer
  report: Report
}
