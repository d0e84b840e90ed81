/**
 * Step 3, for a record whose outcome is unknown, `rejected` or `expired`: waits for another process, then observes the
 * chain. Returns the current record.
 */
import { isOpen, isStarted, isVoid, type ResponseRecord } from '../../store/log/record.ts'
import type { PaymentServices } from '../settlement/services.ts'
import { reconcile } from '../settlement/reconcile.ts'
import { advanceOrReload, reload } from '../settlement/record-decision.ts'
import type { WaitLimit } from '../settlement/settle.ts'

/** Reads of a record that another process settles: 20 s together, longer than most settlements. */
const LOOKS_MAX = 20
const LOOK_MS = 1_000
/** The shortest time between two observations for the transfer of an ended payment. */
const ENDED_MS = 60_000
/** Whether a retry observes the chain: the outcome is not known, or the chain showed no transfer. */
export function mayChange({ state }: ResponseRecord): boolean {
  return isOpen(state) || isVoid(state)
}

/** Returns the current record, and the time until a retry observes the chain again if this one did not. */
export async function retry(
  payments: PaymentServices,
  record: ResponseRecord,
  waitLimit: WaitLimit,
): Promise<{ record: ResponseRecord; waitMs: number }> {
  const current = await waitForOtherProcess(payments, record, waitLimit)
  if (!mayChange(current)) return { record: current, waitMs: 0 }
  const waitMs = payments.recentAttempts.waitMs(current.identity, isOpen(current.state) ? undefined : ENDED_MS)
  if (waitMs > 0) return { record: current, waitMs }
  // Abandons the attempt of a process that has died or takes too long. The reconciler then settles the record too.
  const open = isStarted(current.state) ? await advanceOrReload(payments, current, { state: 'unknown' }) : current
  return { record: await reconcile(payments, open, { cause: 'request', waitLimit }), waitMs: 0 }
}

/** The mutex of the payment is held, so a settlement in progress is that of another process. */
async function waitForOtherProcess(
  payments: PaymentServices,
  record: ResponseRecord,
  { until, stopSignal }: WaitLimit,
): Promise<ResponseRecord> {
  const { recentAttempts } = payments
  const isInProgress = () => recentAttempts.isInProgress(current) && !recentAttempts.isAbandoned(current)
  let current = record
  for (let looks = 0; looks < LOOKS_MAX && isInProgress(); looks += 1) {
    if (stopSignal.aborted || payments.monotonic() + LOOK_MS > until) break
    await new Promise<void>((resolve) => void payments.timer(resolve, LOOK_MS))
    current = await reload(payments, current)
  }
  return current
}
