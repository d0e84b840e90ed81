/**
 * Advances a record by what the chain shows of its authorization, and by nothing else. The rule is two tables: what the
 * evidence means (`interpretEvidence`), and what it does to a record in each state (`ACTIONS`).
 */
import type { RecordState, ResponseRecord } from '../../store/record.ts'
import type { AuthorizationEvidence, ChainProgress } from './chain.ts'
import { readOutcomeOnce } from './await-outcome.ts'
import type { Denial } from './denials.ts'
import { tryReadEvidence } from './evidence.ts'
import { FINDINGS, interpretEvidence, isNewerThan, type Finding } from './finding.ts'
import { recordedPayment } from './recorded-payment.ts'
import type { PaymentServices } from './services.ts'
import { advanceOrReload, reload, retrySettlement, settledStep } from './settle.ts'
import { maySettleAgain } from './settlement-schedule.ts'

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

/** Reads the chain once for a record that is not final, and acts on the evidence. */
export async function reconcile(payments: PaymentServices, record: ResponseRecord): Promise<ResponseRecord> {
  const current = record.state === 'settling' ? await abandonAttempt(payments, record) : record
  // Another process advanced the record and started a new attempt.
  if (current.state === 'settling') return current
  const evidence = await tryReadEvidence(payments, current)
  payments.readings.note(record.identity)
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
  if (finding !== 'no_evidence' && !isDenial(action)) payments.denials.forget(record.identity)
  switch (action) {
    case 'wait':
      return record
    case 'settle':
      return maySettleAgain(record, payments.now()) ? retrySettlement(payments, record) : record
    case 'reopen': {
      if (!isNewerThan(evidence, timeWritten(payments, record))) return record
      if (!(await confirmDenial(payments, record, action))) return record
      payments.report('settlement_not_on_chain', `state ${evidence.nonce}`)
      const unknown = await advanceOrReload(payments, record, { state: 'unknown', payment_response: null })
      return unknown.state === 'unknown' ? applyEvidence(payments, unknown, evidence) : unknown
    }
    case 'settled':
    case 'confirmed': {
      const progress = action === 'confirmed' ? await tryReadProgress(payments) : undefined
      if (action === 'confirmed' && !progress) return record
      // The header names the transaction on chain, which may differ from the one that the facilitator named.
      if (evidence.nonce !== 'used') throw new Error('The evidence of a settlement has no transfer')
      const step = await settledStep(payments, record, evidence.transfer.transaction)
      return advanceOrReload(payments, record, { ...step, state: action, ...(progress && endedAt(payments, progress)) })
    }
    case 'rejected':
    case 'expired': {
      const progress = await confirmDenial(payments, record, action)
      return progress ? advanceOrReload(payments, record, { state: action, ...endedAt(payments, progress) }) : record
    }
  }
}

/** In milliseconds. A clock that was ahead may have stamped a time that no block reaches for weeks; it does not count. */
function timeWritten({ now }: PaymentServices, { updated_at }: ResponseRecord): number {
  const time = Date.parse(updated_at)
  return time > now().getTime() ? 0 : time
}

function isDenial(action: ReconcileAction): action is Denial {
  return action === 'reopen' || action === 'rejected' || action === 'expired'
}

/** An end that costs the buyer needs two readings. Undefined after the first one, or if the chain cannot be read. */
async function confirmDenial(
  payments: PaymentServices,
  { identity }: ResponseRecord,
  denial: Denial,
): Promise<ChainProgress | undefined> {
  const progress = await tryReadProgress(payments)
  return progress && payments.denials.isConfirmed(identity, denial, progress) ? progress : undefined
}

/** The retention counts from the later of clock and chain, so that a wrong clock cannot shorten it. */
export function endedAt({ now }: Pick<PaymentServices, 'now'>, { time }: ChainProgress): { updated_at: string } {
  return { updated_at: new Date(Math.max(now().getTime(), Number(time) * 1000)).toISOString() }
}

async function tryReadProgress({ chain, report }: PaymentServices): Promise<ChainProgress | undefined> {
  try {
    return await chain.progress()
  } catch (cause) {
    report('chain_unavailable', cause)
    return undefined
  }
}

/**
 * For a retry of a payment that ended without a transfer. Reads the chain once, at most every minute, and reopens the record
 * if the transfer is there after all.
 */
export async function reconsider(payments: PaymentServices, record: ResponseRecord): Promise<ResponseRecord> {
  if (!payments.denials.takeReread(record.identity)) return record
  const outcome = await readOutcomeOnce(payments, record)
  if (outcome.kind !== 'settled') return record
  payments.report('denied_settlement_found', `was ${record.state}`)
  const step = await settledStep(payments, record, outcome.transaction)
  const change = { ...step, updated_at: payments.now().toISOString() }
  return (await payments.log.reopen(record, change)) ?? reload(payments, record)
}
