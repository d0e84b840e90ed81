/** Step 3: answers a payment with a record from that record. Rate limit, readiness and newer snapshots do not apply. */
import type { ResponseRecord } from '../../store/log/record.ts'
import { WEIGHTS, type Client } from './limits/address-budget.ts'
import { refused } from '../operation/outcome.ts'
import { isBoundTo, type DecodedPayload } from '../payment/binding.ts'
import { isLate } from '../payment/payment-checks.ts'
import { reconcile } from '../settlement/reconcile.ts'
import { advanceOrReload, reload } from '../settlement/record-decision.ts'
import { addMissingReceipt } from '../settlement/receipts.ts'
import type { SettlementServices } from '../settlement/services.ts'
import { STATE_RULES } from '../settlement/states.ts'
import type { WaitLimit } from '../settlement/settle.ts'
import { outcomeUnknown, recordOutcome, unknownIfFailed, type SaleOutcome } from './record-outcome.ts'
import type { SaleContext } from './sale-context.ts'

/** Reads of a record that another process settles: 20 s together, longer than most settlements. */
const LOOKS_MAX = 20
const LOOK_MS = 1_000

type ReplayContext = Pick<SaleContext, 'services' | 'paymentMutex'>

interface Retry {
  payload: DecodedPayload
  client: Client
  waitLimit: WaitLimit
}

/** Undefined if the payment has no record. Only a payment that has a record is hashed here. */
export function replay(context: ReplayContext, request: Retry): Promise<SaleOutcome | undefined> {
  const { services } = context
  const { payload, client } = request
  const { budget } = client
  return unknownIfFailed(services.report, async () => {
    const record = await services.log.read(payload.identity, payload.id).catch((cause: unknown) => {
      // A failed read of the log costs the client nothing.
      budget.refund()
      throw cause
    })
    if (!record) return undefined
    // After the record of a settled payment is removed, a later payment can have its id. The first one is late by then.
    const isOther = record.identity !== payload.identity
    if (isOther && isLate(payload.payment.payload.authorization, services.now())) return undefined
    // The payment id is not on chain. Without one, an observer can rebuild the payload and guess what it has bought.
    if (record.payment_id !== payload.id || !isBoundTo(record, payload))
      return budget.raiseTo(WEIGHTS.guess) ?? refuseOther(record, payload)
    return answer(context, record, request)
  })
}

/** Only the holder of the recorded payload learns that the request differs: the answer must not confirm a guess. */
function refuseOther({ payment_hash, payment_id }: ResponseRecord, payload: DecodedPayload) {
  const isRecorded = payment_id === payload.id && payment_hash === payload.bind().payment_hash
  return refused({ code: 'payment_replay_conflict', field: isRecorded ? 'request' : 'payment' })
}

/** A matching payload is charged only for the size of the answer. */
async function answer(context: ReplayContext, record: ResponseRecord, request: Retry): Promise<SaleOutcome> {
  const { services } = context
  const { client } = request
  client.budget.refund()
  if (STATE_RULES[record.state].observeAfterMs === undefined) {
    const limited = client.budget.chargeReplay(Buffer.byteLength(record.body))
    return limited ?? replayRecord(services, record, request)
  }
  // The payment was verified before it had a record.
  client.noteVerified()
  // The request that settles the payment changes the record. Requests that wait for it read the record again.
  using turn = await takeTurn(context, record, client)
  if (!turn) return outcomeUnknown()
  const current = turn.hasWaited ? await services.log.read(record.identity) : undefined
  // The turn ends with the function.
  return await replayRecord(services, current ?? record, request)
}

/** The turn of a request among those with an equal payment. Undefined if the service stops, or too many wait. */
export async function takeTurn(
  { paymentMutex }: Pick<SaleContext, 'paymentMutex'>,
  { payment_hash }: Pick<ResponseRecord, 'payment_hash'>,
  client: Client,
) {
  const turn = await paymentMutex.enter(payment_hash, client.hasLeft)
  // Thousands may have waited for one settlement.
  if (turn?.hasWaited === true) await new Promise<void>(client.takeTurn)
  return turn
}

/** Replays for a request that was charged as a sale. An answer refunds that, and is charged by its size. */
export async function replayToWaiting(
  services: SettlementServices,
  record: ResponseRecord,
  request: Retry,
): Promise<SaleOutcome> {
  const { budget } = request.client
  const outcome = await replayRecord(services, record, request)
  if (outcome.kind !== 'answer') return outcome
  budget.refund()
  return budget.chargeReplay(Buffer.byteLength(outcome.body)) ?? outcome
}

/**
 * The stored response, if another request or process has sold for this payment since step 3. The record of another
 * payment with the same id does not count: steps 3 and 10 compare the id.
 */
export function replayIfSold(services: SettlementServices, request: Retry): Promise<SaleOutcome | undefined> {
  return unknownIfFailed(services.report, async () => {
    const record = await services.log.read(request.payload.identity)
    return record && replayToWaiting(services, record, request)
  })
}

/** Answers from the record. If its outcome may change, waits for another process, then observes the chain. */
async function replayRecord(
  services: SettlementServices,
  record: ResponseRecord,
  { payload, waitLimit }: Retry,
): Promise<SaleOutcome> {
  if (!isBoundTo(record, payload)) return refuseOther(record, payload)
  let current = await waitForOtherProcess(services, record, waitLimit)
  if (!current) return outcomeUnknown()
  const waitMs = services.recentAttempts.waitMs(current)
  if (waitMs === 0) {
    // Abandons the attempt of a process that has died. The reconciler then settles the record too.
    if (STATE_RULES[current.state].isAttempt) current = await advanceOrReload(services, current, { state: 'unknown' })
    current = await reconcile(services, current, { cause: 'request', waitLimit })
  }
  return recordOutcome(await addMissingReceipt(services, current), waitMs)
}

/**
 * The mutex of the payment is held, so a settlement in progress is that of another process. Undefined while it lasts
 * longer than the request waits.
 */
async function waitForOtherProcess(
  services: SettlementServices,
  record: ResponseRecord,
  { until, stopSignal }: WaitLimit,
): Promise<ResponseRecord | undefined> {
  let current = record
  for (let looks = 0; services.recentAttempts.isInProgress(current); looks += 1) {
    if (looks === LOOKS_MAX || stopSignal.aborted || services.monotonic() + LOOK_MS > until) return undefined
    await new Promise<void>((resolve) => void services.timer(resolve, LOOK_MS))
    current = await reload(services, current)
  }
  return current
}
