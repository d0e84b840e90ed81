/**
 * Settles the payment of a stored response. Each state is durable before the next step starts, because the process may die
 * at any `await`. First attempt: `prepared`, facilitator, then `settled`, `refused` or `unknown`. Later attempts start with
 * `settling` and end in `settled` or `unknown`.
 */
import type { SettleResponse } from '@x402/core/types'
import {
  TRANSITIONS,
  type RecordChange,
  type RecordState,
  type RecordVersion,
  type ResponseRecord,
} from '../../store/record.ts'
import { awaitOutcome } from './await-outcome.ts'
import { settleWithFacilitator } from './facilitator.ts'
import { issueReceipt, recordedReceipt } from './receipts.ts'
import { recordedPayment } from './recorded-payment.ts'
import type { PaymentServices } from './services.ts'

type RecordStep = Omit<RecordChange, 'updated_at'> & { state: RecordState; updated_at?: string }

/** Settles an `unknown` record whose nonce is free. Returns the current record. */
export async function retrySettlement(payments: PaymentServices, record: ResponseRecord): Promise<ResponseRecord> {
  const time = payments.now().toISOString()
  const attempt = record.attempt + 1
  const settling = await advance(payments, record, { state: 'settling', attempt, settling_at: time, updated_at: time })
  // Otherwise another process advanced the record first, and that process makes the attempt.
  return settling ? settleRecord(payments, settling) : reload(payments, record)
}

/** Settles a record that the caller has just moved to `prepared` or `settling`. Returns the current record. */
export async function settleRecord(payments: PaymentServices, record: ResponseRecord): Promise<ResponseRecord> {
  const { facilitator, timer, report } = payments
  const settlement = await settleWithFacilitator({ facilitator, timer, ...recordedPayment(record) })
  const reported = {
    ...(settlement.transaction !== undefined && { reported_transaction: settlement.transaction }),
    ...(settlement.kind === 'unclear' && settlement.isReverted && { reverts: (record.reverts ?? 0) + 1 }),
  }
  if (settlement.kind === 'settled') {
    const step = await settledStep(payments, record, settlement.transaction)
    return recordSuccess(payments, record, { ...step, ...reported })
  }
  report(`settlement_${settlement.kind}`, settlement.kind === 'unclear' ? settlement.cause : settlement.reason)
  // The transaction of an earlier attempt may still be pending, so only the first attempt can end in a refusal.
  const isRefused = record.attempt === 1 && settlement.kind === 'refused'
  const outcome = await awaitOutcome(payments, { record: { ...record, ...reported }, isRefused })
  if (outcome.kind === 'settled') {
    const step = await settledStep(payments, record, outcome.transaction)
    return recordSuccess(payments, record, { ...step, ...reported })
  }
  return advanceOrReload(payments, record, { state: outcome.kind, ...reported })
}

/** Records a success from every state that allows it, because another process may have changed the record meanwhile. */
async function recordSuccess(
  payments: PaymentServices,
  record: ResponseRecord,
  step: RecordStep,
): Promise<ResponseRecord> {
  let current = record
  while ((TRANSITIONS[current.state] as readonly RecordState[]).includes('settled')) {
    current = await advanceOrReload(payments, current, step)
  }
  return current
}

/** Advances a record, or returns the current record if another process changed it first. */
export async function advanceOrReload(
  payments: PaymentServices,
  from: RecordVersion,
  step: RecordStep,
): Promise<ResponseRecord> {
  return (await advance(payments, from, step)) ?? reload(payments, from)
}

/** Undefined if the record has changed since `from` was read. */
function advance(
  { log, now }: PaymentServices,
  from: RecordVersion,
  step: RecordStep,
): Promise<ResponseRecord | undefined> {
  return log.advance(from, { updated_at: now().toISOString(), ...step })
}

export async function reload({ log }: PaymentServices, { identity }: RecordVersion): Promise<ResponseRecord> {
  const record = await log.read(identity)
  if (!record) throw new Error('The record is no longer in the response log')
  return record
}

/** The step to `settled`, with the settlement response and the receipt of every response from this record. */
export async function settledStep(payments: PaymentServices, record: ResponseRecord, transaction: string) {
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
