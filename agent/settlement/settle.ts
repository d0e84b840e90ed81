/**
 * Settles the payment of a stored response. Each state is durable before the next step starts, because the process may
 * die at any `await`. First attempt: `prepared`, facilitator, then `settled` or `unknown`. Later attempts start with
 * `settling`.
 */
import type { ResponseRecord } from '../../store/log/record.ts'
import { settleWithFacilitator } from './facilitator/facilitator.ts'
import { observeRecords, unlessUnreadable } from './observe-records.ts'
import { recordedPayment } from '../payment/recorded-payment.ts'
import type { SaleStart } from './verify-sale.ts'
import { DeadlineError, withDeadline } from './rpc/deadline.ts'
import { decide } from './decide.ts'
import type { PaymentServices } from './services.ts'
import { advance, advanceOrReload, recordDecision, recordPaid, reload } from './record-decision.ts'

/** For the transfer to appear on nodes that are some blocks behind. */
const WAIT_MS_MAX = 10_000
/** Before each observation while a request waits: from the second one on, the time between two blocks of Base. */
const PAUSES_MS = [0, 1_000, 2_000, 2_000, 2_000, 2_000]

/** How long a request may wait for the chain. */
export interface WaitLimit {
  /** Milliseconds of the monotonic clock. */
  until: number
  /** Aborted when the service stops. */
  stopSignal: AbortSignal
  /** Called before the request waits. */
  onWait?: () => void
}

/** Starts another settlement of an `unknown` record whose nonce is free. Returns the current record. */
export async function settleAgain(
  payments: PaymentServices,
  record: ResponseRecord,
  waitLimit: WaitLimit | undefined,
): Promise<ResponseRecord> {
  const time = payments.now().toISOString()
  const attempt = record.attempt + 1
  const settling = await advance(payments, record, { state: 'settling', attempt, settling_at: time, updated_at: time })
  // Otherwise another process advanced the record first, and that process makes the attempt.
  return settling ? settle(payments, settling, { waitLimit }) : reload(payments, record)
}

/** Settles a record that the caller has just claimed (with `start`), or made `settling`. Returns the current record. */
export async function settle(
  payments: PaymentServices,
  record: ResponseRecord,
  { start, waitLimit }: { start?: SaleStart; waitLimit: WaitLimit | undefined },
): Promise<ResponseRecord> {
  const { facilitator, timer, report } = payments
  const settlement = await settleWithFacilitator({ facilitator, timer, ...recordedPayment(record) }, record.facilitator)
  const reported = {
    ...(settlement.transaction !== undefined && { reported_transaction: settlement.transaction }),
    ...(settlement.kind === 'unclear' && settlement.isReverted && { reverts: (record.reverts ?? 0) + 1 }),
  }
  if (settlement.kind === 'settled') return recordPaid(payments, record, settlement.transaction, reported)
  report(`settlement_${settlement.kind}`, settlement.kind === 'unclear' ? settlement.cause : settlement.reason)
  // The transaction of an earlier attempt may still be pending, so only the first attempt can end in a refusal.
  const isRefused = start && settlement.kind === 'refused' && settlement.transaction === undefined
  if (isRefused) {
    const refusal = { state: 'unknown', refused_at: refusalTime(payments, start) } as const
    return waitForChain(payments, await advanceOrReload(payments, record, refusal), waitLimit)
  }
  // `unknown` is written only after the wait: equal requests in other processes wait until then.
  const waited = await waitForChain(payments, { ...record, ...reported }, waitLimit)
  const isUndecided = waited.state === 'prepared' || waited.state === 'settling'
  return isUndecided ? advanceOrReload(payments, record, { state: 'unknown', ...reported }) : waited
}

/**
 * A block after this time shows whether a refused payment was sent. The chain may be ahead of the local clock, so its
 * time counts too.
 */
function refusalTime({ now, monotonic }: PaymentServices, { observation, observedAt }: SaleStart): string {
  const chainTime = Number(observation.time) * 1000 + (monotonic() - observedAt)
  return new Date(Math.max(now().getTime(), chainTime)).toISOString()
}

/**
 * Observes the payment until the chain decides it or the wait limit is reached. Many clients never repeat a request.
 */
async function waitForChain(
  payments: PaymentServices,
  record: ResponseRecord,
  waitLimit: WaitLimit | undefined,
): Promise<ResponseRecord> {
  if (!waitLimit) return record
  const { timer, monotonic } = payments
  const milliseconds = Math.min(WAIT_MS_MAX, waitLimit.until - monotonic())
  if (milliseconds <= 0) return record
  waitLimit.onWait?.()
  // A refusal needs a block that is newer than the reply.
  const pauses = record.refused_at === undefined ? PAUSES_MS : PAUSES_MS.slice(1)
  const observeUntilDecided = async (signal: AbortSignal) => {
    for (const pause of pauses) {
      if (pause > 0) await new Promise<void>((resolve) => void timer(resolve, pause))
      if (signal.aborted) return undefined
      const decision = await unlessUnreadable(payments, () => observeOnce(payments, record))
      if (decision) return decision
    }
    return undefined
  }
  const deadline = { timer, milliseconds, signal: waitLimit.stopSignal }
  const decision = await withDeadline(deadline, observeUntilDecided).catch((cause: unknown) => {
    if (cause instanceof DeadlineError) return undefined
    throw cause
  })
  // Outside of the deadline, which must not interrupt a write.
  return decision ? recordDecision(payments, record, decision) : record
}

/** Undefined if the chain does not decide yet. */
async function observeOnce(payments: PaymentServices, record: ResponseRecord) {
  const [observed] = await observeRecords(payments, [record])
  if (!observed) return undefined
  const nonceState = await observed.readNonce()
  const action = decide({ record, nonceState, now: payments.now(), cause: 'request' })
  // Other ends need a second observation.
  return action === 'refused' || action === 'settled'
    ? { action, nonceState, observation: observed.observation }
    : undefined
}
