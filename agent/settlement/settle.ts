/**
 * Settles the payment of a stored response. Each state is durable before the next step starts, because the process may
 * die at any `await`. First attempt: `prepared`, facilitator, then `settled` or `unknown`. Later attempts start with
 * `settling`.
 */
import type { ResponseRecord } from '../../store/log/record.ts'
import { facilitatorError, settleWithFacilitator } from './facilitator/facilitator.ts'
import { unlessUnreadable } from './chain/reader.ts'
import { isShownFailed, observeRecords, type ObservedRecord } from './observe-records.ts'
import { deploysWallet, recordedPayment } from '../payment/recorded-payment.ts'
import { toMs } from './chain/clock.ts'
import type { Observation } from './chain/observe.ts'
import { isTimeout, withDeadline } from '../../base/deadline.ts'
import { decide } from './decide.ts'
import { judgeDenial } from './judge-denial.ts'
import { NEW_LEASE } from './recent-attempts.ts'
import type { SettlementServices } from './services.ts'
import { advance, advanceOrReload, recordDecision, recordPaid, reload, type Decision } from './record-decision.ts'

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

/** The chain before the first settlement. */
export interface SaleStart {
  observation: Observation
  /** Code, balance and nonce of the payer. */
  payer: Observation['payments'][number]
  /** On the monotonic clock. */
  observedAt: number
  /** Whether another node shows the nonce as used. The sale is then answered only after its transfer is on chain. */
  isDisputed: boolean
}

/** Starts another settlement of an `unknown` record whose nonce is free. Returns the current record. */
export async function settleAgain(
  services: SettlementServices,
  record: ResponseRecord,
  options: Pick<SettleOptions, 'observation' | 'waitLimit'>,
): Promise<ResponseRecord> {
  const time = services.now().toISOString()
  const attempt = record.attempt + 1
  const times = { settling_at: time, updated_at: time }
  const settling = await advance(services, record, { state: 'settling', attempt, lease: NEW_LEASE, ...times })
  // Otherwise another process advanced the record first, and that process makes the attempt.
  return settling ? settle(services, settling, options) : reload(services, record)
}

interface SettleOptions {
  /** Given for the first settlement only. */
  start?: SaleStart
  /** Given for further settlements. Its node is asked whether the transaction of a success has failed. */
  observation?: Observation
  waitLimit: WaitLimit | undefined
}

/** Settles a record that the caller has just claimed, or made `settling`. Returns the current record. */
export function settle(
  services: SettlementServices,
  record: ResponseRecord,
  options: SettleOptions,
): Promise<ResponseRecord> {
  return services.recentAttempts.run(record, () => settleOnce(services, record, options))
}

async function settleOnce(
  services: SettlementServices,
  record: ResponseRecord,
  options: SettleOptions,
): Promise<ResponseRecord> {
  const { facilitator, timer, report } = services
  const { start, waitLimit } = options
  const settlement = await settleWithFacilitator({ facilitator, timer, ...recordedPayment(record) }, record.facilitator)
  const { transaction } = settlement
  // A refusal of a payment that deploys its wallet counts as a revert, because the deployment may have cost gas.
  const isReverted = settlement.isReverted === true || (settlement.kind === 'refused' && deploysWallet(record))
  const progress = {
    ...(transaction !== undefined && { reported_transaction: transaction }),
    ...(isReverted && { reverts: (record.reverts ?? 0) + 1 }),
  }
  if (settlement.kind !== 'settled') {
    const cause = settlement.kind === 'unclear' ? settlement.cause : undefined
    report(`settlement_${settlement.kind}`, facilitatorError(record.facilitator, cause))
  } else if (!(await needsTransfer(services, record, settlement, options))) {
    services.doubts.noteSuccess(record)
    return recordPaid(services, record, settlement.transaction, progress)
  }
  // The transaction of an earlier attempt may still be pending, so only the first attempt can end in a refusal.
  if (start && settlement.kind === 'refused') {
    const refusedAt = new Date(latestTime(services, start)).toISOString()
    const refusal = { state: 'unknown', ...progress, refused_at: refusedAt } as const
    const current = await advanceOrReload(services, record, refusal)
    const decision = await awaitDecision(services, current, waitLimit)
    return decision ? recordDecision(services, current, decision) : current
  }
  // `unknown` is written only after the wait: equal requests in other processes wait until then.
  const decision = await awaitDecision(services, { ...record, ...progress }, waitLimit)
  return decision
    ? recordDecision(services, record, decision)
    : advanceOrReload(services, record, { state: 'unknown', ...progress })
}

/** Whether a success of the facilitator counts only once its transfer is on chain. */
async function needsTransfer(
  services: SettlementServices,
  record: ResponseRecord,
  { transaction }: { transaction: string },
  { start, observation }: SettleOptions,
): Promise<boolean> {
  // The nonce of a disputed sale may have paid before, and the token makes no transfer from `validBefore` on.
  if (start?.isDisputed === true || hasEnded(services, record, start)) return true
  if (observation && (await isShownFailed(services, transaction, observation))) return true
  return isDoubted(services, record)
}

/** If the log cannot be read, the chain decides. */
function isDoubted({ doubts, report }: SettlementServices, record: ResponseRecord): Promise<boolean> {
  return doubts.concern(record).catch((cause: unknown) => {
    report('doubts_unreadable', cause)
    return true
  })
}

/** Whether the authorization is past `validBefore` now. */
function hasEnded(services: SettlementServices, record: ResponseRecord, start: SaleStart | undefined): boolean {
  const { validBefore } = recordedPayment(record).payment.payload.authorization
  return latestTime(services, start) >= Number(validBefore) * 1000
}

/** The local time in milliseconds, or that of the chain if it is ahead: a later block shows what is true now. */
function latestTime({ now, monotonic }: SettlementServices, start: SaleStart | undefined): number {
  if (!start) return now().getTime()
  const { observation, observedAt } = start
  return Math.max(now().getTime(), toMs(observation.time) + (monotonic() - observedAt))
}

/**
 * Observes the payment until the chain decides it. Undefined after the wait limit. Many clients never repeat a request.
 */
async function awaitDecision(
  services: SettlementServices,
  record: ResponseRecord,
  waitLimit: WaitLimit | undefined,
): Promise<Decision | undefined> {
  if (!waitLimit) return undefined
  const { timer, monotonic } = services
  const milliseconds = Math.min(WAIT_MS_MAX, waitLimit.until - monotonic())
  if (milliseconds <= 0) return undefined
  waitLimit.onWait?.()
  // A refusal needs a block that is newer than the reply.
  const pauses = record.refused_at === undefined ? PAUSES_MS : PAUSES_MS.slice(1)
  // Another node each time, so that one that lags or lies does not decide alone.
  let otherThan: Observation | undefined
  const observeUntilDecided = async (openSignal: () => AbortSignal) => {
    const signal = openSignal()
    for (const pause of pauses) {
      if (pause > 0) await new Promise<void>((resolve) => void timer(resolve, pause))
      if (signal.aborted) return undefined
      const decision = await unlessUnreadable(services, async () => {
        const [observed] = await observeRecords(services, [record], { otherThan })
        otherThan = observed?.observation
        return observed && decideAtOnce(services, record, observed)
      })
      if (decision) return decision
    }
    return undefined
  }
  const deadline = { timer, milliseconds, signal: waitLimit.stopSignal }
  // The deadline does not include a write, which it must not interrupt.
  return withDeadline(deadline, observeUntilDecided).catch((cause: unknown) => {
    if (isTimeout(cause)) return undefined
    throw cause
  })
}

/** Undefined if the chain does not decide yet. */
async function decideAtOnce(
  services: SettlementServices,
  record: ResponseRecord,
  observed: ObservedRecord,
): Promise<Decision | undefined> {
  const nonceState = await observed.readNonce()
  const cause = 'request'
  const action = decide({ record, nonceState, now: services.now(), cause })
  // Other ends need observations that are a minute apart.
  if (action !== 'settled' && action !== 'refused') return undefined
  const isDecided =
    action === 'settled' || (await judgeDenial(services, record, observed, { denial: action, cause })) === 'confirmed'
  return isDecided ? { action, nonceState, observation: observed.observation } : undefined
}
