/** Decides what to do with a request whose payment may already have a record. */
import type { RecordState, ResponseRecord } from '../../store/record.ts'
import type { PaymentBinding } from '../payments/binding.ts'

export type ReplayDecision =
  /** New payment: continue with the checks. */
  | 'sell'
  /** The outcome is not known, or the chain shows no transfer: observe the chain. */
  | 'ask_chain'
  /** Paid: return the stored response. */
  | 'repeat'
  /** Not charged, and never settled again: the client needs a new signature. */
  | 'refuse'
  /** The payment belongs to another request. */
  | 'conflict'

/** The decision for a retry of the recorded request, by state of the record. */
const DECISIONS: Record<RecordState, ReplayDecision> = {
  prepared: 'ask_chain',
  settling: 'ask_chain',
  unknown: 'ask_chain',
  settled: 'repeat',
  confirmed: 'repeat',
  refused: 'refuse',
  rejected: 'ask_chain',
  expired: 'ask_chain',
}

export function decideReplay(
  record: ResponseRecord | undefined,
  { payment_hash, operation_digest }: Pick<PaymentBinding, 'payment_hash' | 'operation_digest'>,
): ReplayDecision {
  if (!record) return 'sell'
  const isSame = record.payment_hash === payment_hash && record.operation_digest === operation_digest
  return isSame ? DECISIONS[record.state] : 'conflict'
}
