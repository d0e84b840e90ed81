/**
 * Settles the payment of a stored response. Each state is durable before the next step starts, because the process may die
 * at any `await`. First attempt: `prepared`, facilitator, then `settled` or `unknown`. Later attempts start with `settling`.
 */
import type { SettleResponse } from '@x402/core/types'
import {
  TRANSITIONS,
  type RecordChange,
  type RecordState,
  type RecordVersion,
  type ResponseRecord,
} from '../../store/record.ts'
import type { Observation } from '../chain/observe.ts'
import { settleWithFacilitator } from '../payments/facilitator.ts'
import { issueReceipt, recordedReceipt } from '../payments/receipts.ts'
import { recordedPayment } from '../payments/recorded-payment.ts'
import type { SettlementServices } from './services.ts'
import { DeadlineError, withDeadline } from '../rpc/deadline.ts'
import { decide } from './decide.ts'
import { observeRecords } from './observe.ts'

/** For the transfer to appear on nodes that are some blocks behind. */
const WAIT_MS_MAX = 10_000
/** Before each observation while a request waits: from the second one on, the time between two blocks of Base. */
const PAUSES_MS = [0, 1_000, 2_000, 2_000, 2_000, 2_000]

/** How long a request may wait for the chain. */
export interface Patience {
  /** On the monotonic clock. */
  until: number
  /** Aborted when the service stops. */
  stopSignal: AbortSignal
  /** Called before the request waits. */
  onWait?: () => void
}

/** The chain before the first settlement. */
export interface SaleStart {
  observation: Observation
  /** On the monotonic clock. */
  observedAt: number
}

type RecordStep = Omit<RecordChange, 'updated_at'> & { state: RecordState; updated_at?: string }

/** Settles a record that the caller has just claimed. Returns the current record. */
export function settleFirst(
  payments: SettlementServices,
  record: ResponseRecord,
  { start, patience }: { start: SaleStart; patience: Patience },
): Promise<ResponseRecord> {
  return attemptSettlement(payments, record, { start, patience })
}

/** Settles an open record again whose nonce is free. Returns the current record. */
export async function settleAgain(
  payments: SettlementServices,
  record: ResponseRecord,
  patience: Patience | undefined,
): Promise<ResponseRecord> {
  const open = record.state === 'unknown' ? record : await advance(payments, record, { state: 'unknown' })
  const time = payments.now().toISOString()
  const attempt = record.attempt + 1
  const step = { state: 'settling', attempt, settling_at: time, updated_at: time } as const
  const settling = open && (await advance(payments, open, step))
  // Otherwise another process advanced the record first, and that process makes the attempt.
  return settling ? attemptSettlement(payments, settling, { patience }) : reload(payments, record)
}

async function attemptSettlement(
  payments: SettlementServices,
  record: ResponseRecord,
  { start, patience }: { start?: SaleStart; patience: Patience | undefined },
): Promise<ResponseRecord> {
  const { facilitator, timer, report } = payments
  const settlement = await settleWithFacilitator({ facilitator, timer, ...recordedPayment(record) })
  const reported = {
    ...(settlement.transaction !== undefined && { reported_transaction: settlement.transaction }),
    ...(settlement.kind === 'unclear' && settlement.isReverted && { reverts: (record.reverts ?? 0) + 1 }),
  }
  if (settlement.kind === 'settled') return recordSuccess(payments, record, settlement.transaction, reported)
  report(`settlement_${settlement.kind}`, settlement.kind === 'unclear' ? settlement.cause : settlement.reason)
  // The transaction of an earlier attempt may still be pending, so only the first attempt can end in a refusal.
  const isRefused = start && settlement.kind === 'refused' && settlement.transaction === undefined
  const refusal = isRefused && { refused_at: refusalTime(payments, start) }
  if (refusal)
    return waitForChain(payments, await advanceOrReload(payments, record, { state: 'unknown', ...refusal }), patience)
  const waited = await waitForChain(payments, { ...record, ...reported }, patience)
  const isUndecided = waited.state === 'prepared' || waited.state === 'settling'
  return isUndecided ? advanceOrReload(payments, record, { state: 'unknown', ...reported }) : waited
}

/** Whether the outcome of the payment is not known. */
export function isOpen({ state }: ResponseRecord): boolean {
  return state === 'prepared' || state === 'settling' || state === 'unknown'
}

/**
 * A block after this time shows whether a refused payment was sent. The chain may be ahead of the local clock, so its time
 * counts too.
 */
function refusalTime({ now, monotonic }: SettlementServices, { observation, observedAt }: SaleStart): string {
  const chainTime = Number(observation.time) * 1000 + (monotonic() - observedAt)
  return new Date(Math.max(now().getTime(), chainTime)).toISOString()
}

/** Observes the payment until the chain decides it or the patience ends. Many clients never repeat a request. */
async function waitForChain(
  payments: SettlementServices,
  record: ResponseRecord,
  patience: Patience | undefined,
): Promise<ResponseRecord> {
  if (!patience || !isOpen(record)) return record
  const { timer, monotonic } = payments
  const milliseconds = Math.min(WAIT_MS_MAX, patience.until - monotonic())
  if (milliseconds <= 0) return record
  patience.onWait?.()
  let decided: (() => Promise<ResponseRecord>) | undefined
  try {
    decided = await withDeadline({ timer, milliseconds, signal: patience.stopSignal }, async (signal) => {
      for (const pause of PAUSES_MS) {
        if (pause > 0) await new Promise<void>((resolve) => void timer(resolve, pause))
        if (signal.aborted) break
        const outcome = await observeOutcome(payments, record)
        if (outcome) return outcome
      }
      return undefined
    })
  } catch (cause) {
    if (!(cause instanceof DeadlineError)) throw cause
  }
  // Outside of the deadline, which must not interrupt a write.
  return decided ? decided() : record
}

/** Undefined if the chain does not decide yet. Only reads: the caller runs the returned write. */
async function observeOutcome(
  payments: SettlementServices,
  record: ResponseRecord,
): Promise<(() => Promise<ResponseRecord>) | undefined> {
  const [observed] = (await observeRecords(payments, [record], { withFinal: false })) ?? []
  const evidence = await observed?.evidence()
  if (!evidence) return undefined
  const action = decide({ record, evidence, now: payments.now(), cause: 'sale' })
  if (action === 'refused') return () => advanceOrReload(payments, record, { state: 'refused' })
  if (action !== 'settled' || evidence.nonce !== 'used') return undefined
  const { reported_transaction, reverts } = record
  const reported = {
    ...(reported_transaction !== undefined && { reported_transaction }),
    ...(reverts !== undefined && { reverts }),
  }
  return () => recordSuccess(payments, record, evidence.transfer.transaction, reported)
}

/** Records a success from every state that allows it, because another process may have changed the record meanwhile. */
async function recordSuccess(
  payments: SettlementServices,
  record: ResponseRecord,
  transaction: string,
  reported: Partial<RecordChange>,
): Promise<ResponseRecord> {
  const step = { ...(await settledStep(payments, record, transaction)), ...reported }
  let current = record
  while ((TRANSITIONS[current.state] as readonly RecordState[]).includes('settled')) {
    current = await advanceOrReload(payments, current, step)
  }
  return current
}

/** Advances a record, or returns the current record if another process changed it first. */
export async function advanceOrReload(
  payments: SettlementServices,
  from: RecordVersion,
  step: RecordStep,
): Promise<ResponseRecord> {
  return (await advance(payments, from, step)) ?? reload(payments, from)
}

/** Undefined if the record has changed since `from` was read. */
function advance(
  { log, now }: SettlementServices,
  from: RecordVersion,
  step: RecordStep,
): Promise<ResponseRecord | undefined> {
  return log.advance(from, { updated_at: now().toISOString(), ...step })
}

export async function reload({ log }: SettlementServices, { identity }: RecordVersion): Promise<ResponseRecord> {
  const record = await log.read(identity)
  if (!record) throw new Error('The record is no longer in the response log')
  return record
}

/** The step to `settled`, with the settlement response and the receipt of every response from this record. */
export async function settledStep(payments: SettlementServices, record: ResponseRecord, transaction: string) {
  const step = unsignedStep(record, transaction)
  return { ...step, receipt: step.receipt ?? (await issueReceipt(payments, record, transaction)) }
}

/** The step without a new receipt. The next replay then adds one. */
export function unsignedStep(record: ResponseRecord, transaction: string) {
  const { payment, requirements } = recordedPayment(record)
  const response: SettleResponse = {
    success: true,
    transaction,
    network: requirements.network,
    payer: payment.payload.authorization.from,
    amount: requirements.amount,
  }
  // The same text as encodePaymentResponseHeader of @x402/core, which a test compares. Its base64 is much slower.
  const paymentResponse = Buffer.from(JSON.stringify(response)).toString('base64')
  const receipt = recordedReceipt(record, transaction)
  return { state: 'settled', payment_response: paymentResponse, receipt } as const
}
