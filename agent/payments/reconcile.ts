/**
 * Advances a record by what the chain shows of its authorization, and by nothing else. The rule is two tables: what the
 * evidence means (`interpretEvidence`), and what it does to a record in each state (`ACTIONS`).
 */
import type { RecordState, ResponseRecord } from '../../store/record.ts'
import type { AuthorizationEvidence } from './chain.ts'
import type { TransferAuthorization } from './headers.ts'
import { SECONDS_LEFT_MIN } from './payment-checks.ts'
import type { PaymentServices } from './services.ts'
import { advanceOrReload, recordedPayment, retrySettlement, settledStep, tryReadEvidence } from './settle.ts'

export const FINDINGS = [
  /** The nonce was used by Transfer(payer, payTo, amount). Any account may have sent the transaction. */
  'paid',
  /** `paid` in a final block. */
  'paid_final',
  /** The nonce was cancelled or used by another transfer. A reorganisation could still undo that. */
  'spent',
  /** `spent` in a final block. */
  'spent_final',
  /** The nonce is free, and there is enough time to settle. */
  'free',
  /** The nonce is free and it is too late to settle, but no final block is past `validBefore`. */
  'expiring',
  /** The nonce is free in a final block past `validBefore`, so it can never be used. */
  'expired_final',
  /** The chain cannot be read or gives inconsistent answers. */
  'no_evidence',
] as const

export type Finding = (typeof FINDINGS)[number]

/** `settle` calls the facilitator again. `reopen` returns a settled record to `unknown`: the chain does not show it. */
export type ReconcileAction = 'wait' | 'settle' | 'reopen' | 'settled' | 'confirmed' | 'rejected' | 'expired'

type ActionsByFinding = Record<Finding, ReconcileAction>

const UNKNOWN: ActionsByFinding = {
  paid: 'settled',
  paid_final: 'settled',
  spent: 'wait',
  spent_final: 'rejected',
  free: 'settle',
  expiring: 'wait',
  expired_final: 'expired',
  no_evidence: 'wait',
}
const FINAL = Object.fromEntries(FINDINGS.map((finding) => [finding, 'wait'])) as ActionsByFinding

/** The action for a record, by state and finding. `settling` is absent: it first becomes `unknown`. */
export const ACTIONS: Record<Exclude<RecordState, 'settling'>, ActionsByFinding> = {
  /** Settled only when the buyer retries. Otherwise a buyer would pay for a response that may never be fetched. */
  prepared: { ...UNKNOWN, free: 'wait' },
  /** Settled without a retry: the client was told to keep the payment, and a transfer may be pending. */
  unknown: UNKNOWN,
  /** Never settled again, because the buyer was told to sign again. A transfer that appears on chain still counts. */
  refused: { ...UNKNOWN, free: 'wait' },
  settled: {
    paid: 'wait',
    paid_final: 'confirmed',
    spent: 'reopen',
    spent_final: 'reopen',
    free: 'reopen',
    expiring: 'reopen',
    expired_final: 'reopen',
    no_evidence: 'wait',
  },
  confirmed: FINAL,
  rejected: FINAL,
  expired: FINAL,
}

export interface EvidenceContext {
  evidence: AuthorizationEvidence
  authorization: TransferAuthorization
  requirements: { payTo: string; amount: string }
  now: Date
}

/** What the evidence means for the payment. */
export function interpretEvidence({ evidence, authorization, requirements, now }: EvidenceContext): Finding {
  switch (evidence.nonce) {
    case 'used': {
      const { from, to, value } = evidence.transfer
      const isPayment =
        isSameAddress(from, authorization.from) &&
        isSameAddress(to, requirements.payTo) &&
        value === BigInt(requirements.amount)
      if (isPayment) return evidence.isFinal ? 'paid_final' : 'paid'
      return evidence.isFinal ? 'spent_final' : 'spent'
    }
    case 'cancelled':
      return evidence.isFinal ? 'spent_final' : 'spent'
    case 'free': {
      const validBefore = BigInt(authorization.validBefore)
      if (evidence.finalTime >= validBefore) return 'expired_final'
      const secondsLeft = validBefore - BigInt(Math.floor(now.getTime() / 1000))
      return secondsLeft >= SECONDS_LEFT_MIN ? 'free' : 'expiring'
    }
    case 'unclear':
      return 'no_evidence'
  }
}

/** Reads the chain once for a record that is not final, and acts on the evidence. */
export async function reconcile(payments: PaymentServices, record: ResponseRecord): Promise<ResponseRecord> {
  const current = record.state === 'settling' ? await abandonAttempt(payments, record) : record
  // Another process advanced the record and started a new attempt.
  if (current.state === 'settling') return current
  const evidence = await tryReadEvidence(payments, current)
  return evidence ? applyEvidence(payments, current, evidence) : current
}

/** Like `reconcile`, for a buyer who repeats the request. This also settles a record that is still `prepared`. */
export async function reconcileForBuyer(payments: PaymentServices, record: ResponseRecord): Promise<ResponseRecord> {
  return reconcile(payments, record.state === 'prepared' ? await abandonAttempt(payments, record) : record)
}

/** The process that started the attempt has died or takes too long. The outcome of the attempt is unknown. */
function abandonAttempt(payments: PaymentServices, record: ResponseRecord): Promise<ResponseRecord> {
  return advanceOrReload(payments, record, { state: 'unknown' })
}

async function applyEvidence(
  payments: PaymentServices,
  record: ResponseRecord,
  evidence: AuthorizationEvidence,
): Promise<ResponseRecord> {
  if (record.state === 'settling') return record
  const { payment, requirements } = recordedPayment(record)
  const { authorization } = payment.payload
  const finding = interpretEvidence({ evidence, authorization, requirements, now: payments.now() })
  const action = ACTIONS[record.state][finding]
  switch (action) {
    case 'wait':
      return record
    case 'settle':
      return retrySettlement(payments, record)
    case 'reopen': {
      if (!isNewerThan(evidence, record)) return record
      payments.report('settlement_not_on_chain', `state ${evidence.nonce}`)
      const unknown = await advanceOrReload(payments, record, { state: 'unknown', payment_response: null })
      return unknown.state === 'unknown' ? applyEvidence(payments, unknown, evidence) : unknown
    }
    case 'settled':
    case 'confirmed': {
      // The header names the transaction on chain, which may differ from the one that the facilitator named.
      if (evidence.nonce !== 'used') throw new Error('The evidence of a settlement has no transfer')
      const step = settledStep(record, evidence.transfer.transaction)
      return advanceOrReload(payments, record, { ...step, state: action })
    }
    case 'rejected':
    case 'expired':
      return advanceOrReload(payments, record, { state: action })
  }
}

/** A lagging node shows a nonce as free that was just used, so only a block newer than the record counts. */
function isNewerThan(evidence: AuthorizationEvidence, { updated_at }: ResponseRecord): boolean {
  return evidence.nonce !== 'free' || Number(evidence.time) * 1000 > Date.parse(updated_at)
}

function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
