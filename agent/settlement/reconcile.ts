/** Reconciles a record with what an observation of the chain shows of its payment: observe, decide, act. */
import type { FirstDenial, ResponseRecord } from '../../store/log/record.ts'
import { isFinal, isPaid } from '../../store/log/states.ts'
import { unlessUnreadable } from './chain/reader.ts'
import { isShownFailed, observeRecords, type ObservedRecord } from './observe-records.ts'
import { decide, endsOnceFinal, type Cause } from './decide.ts'
import { isDenial } from './states.ts'
import { facilitatorError } from './facilitator/facilitator.ts'
import { deploysWallet } from '../payment/recorded-payment.ts'
import { judgeDenial } from './judge-denial.ts'
import type { PaymentServices } from './services.ts'
import { advance, advanceOrReload, recordDecision, reload } from './record-decision.ts'
import { settleAgain, type WaitLimit } from './settle.ts'

interface Reconciliation {
  cause: Cause
  /** How long a request may wait for a settlement to appear. The reconciler does not wait. */
  waitLimit?: WaitLimit | undefined
}

/** Observes one record and reconciles it. Returns the current record. */
export async function reconcile(
  payments: PaymentServices,
  record: ResponseRecord,
  reconciliation: Reconciliation,
): Promise<ResponseRecord> {
  const observe = () => observeRecords(payments, [record], { withFinal: true })
  const [observed] = (await unlessUnreadable(payments, observe)) ?? []
  return observed ? reconcileObserved(payments, record, observed, reconciliation) : record
}

export async function reconcileObserved(
  payments: PaymentServices,
  record: ResponseRecord,
  observed: ObservedRecord,
  { cause, waitLimit }: Reconciliation,
): Promise<ResponseRecord> {
  const { recentAttempts, now, report } = payments
  const { observation } = observed
  recentAttempts.noteObserved(record.identity)
  const nonceState = await unlessUnreadable(payments, observed.readNonce)
  if (!nonceState) return record
  // The request that began this settlement has ended without its outcome.
  const open = record.state === 'settling' ? await advance(payments, record, { state: 'unknown' }) : record
  if (!open) return reload(payments, record)
  const { state, reported_transaction: reported } = open
  const isDecisive = isPaid(state) || deploysWallet(open)
  const isMissing = isDecisive && nonceState.nonce === 'free' && reported !== undefined
  const hasFailed = isMissing && (await isShownFailed(payments, reported, observation))
  const known = { record: open, nonceState, hasFailed, now: now(), cause }
  const action = decide(known)
  if (isDenial(action)) {
    const judged = await judgeDenial(payments, open, observed, { denial: action, cause })
    if (judged !== 'confirmed') return noteDenial(payments, open, judged)
  }
  switch (action) {
    case 'wait':
      return nonceState.nonce === 'unclear' || endsOnceFinal(known) ? open : noteDenial(payments, open, undefined)
    case 'settle':
      return settleAgain(payments, open, { observation, waitLimit })
    case 'reopen':
    case 'retract': {
      report('settlement_not_on_chain', facilitatorError(open.facilitator))
      await payments.doubts.note(open)
      const reopened = await advance(payments, open, { state: 'unknown', payment_response: null })
      return reopened ? reconcileObserved(payments, reopened, observed, { cause, waitLimit }) : reload(payments, open)
    }
    default:
      return recordDecision(payments, open, { action, nonceState, observation })
  }
}

/** Stores the first denial of a payment, or removes it because a later observation contradicts it. */
async function noteDenial(
  payments: PaymentServices,
  record: ResponseRecord,
  first_denial: FirstDenial | undefined,
): Promise<ResponseRecord> {
  if (record.first_denial === first_denial || isFinal(record.state)) return record
  const { state, updated_at } = record
  return advanceOrReload(payments, record, { state, updated_at, first_denial })
}
