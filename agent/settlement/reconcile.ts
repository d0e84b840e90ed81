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
import type { SettlementServices } from './services.ts'
import { advance, advanceOrReload, recordDecision, reload } from './record-decision.ts'
import { settleAgain, type WaitLimit } from './settle.ts'

interface Reconciliation {
  cause: Cause
  /** How long a request may wait for a settlement to appear. The reconciler does not wait. */
  waitLimit?: WaitLimit | undefined
}

/** Observes one record and reconciles it. Returns the current record. */
export async function reconcile(
  services: SettlementServices,
  record: ResponseRecord,
  reconciliation: Reconciliation,
): Promise<ResponseRecord> {
  const observe = () => observeRecords(services, [record], { withFinal: true })
  const [observed] = (await unlessUnreadable(services, observe)) ?? []
  return observed ? reconcileObserved(services, record, observed, reconciliation) : record
}

export async function reconcileObserved(
  services: SettlementServices,
  record: ResponseRecord,
  observed: ObservedRecord,
  { cause, waitLimit }: Reconciliation,
): Promise<ResponseRecord> {
  const { recentAttempts, now, report } = services
  const { observation } = observed
  recentAttempts.noteObserved(record.identity)
  const nonceState = await unlessUnreadable(services, observed.readNonce)
  if (!nonceState) return record
  // The request that began this settlement has ended without its outcome.
  const open = record.state === 'settling' ? await advance(services, record, { state: 'unknown' }) : record
  if (!open) return reload(services, record)
  const { state, reported_transaction: reported } = open
  const isDecisive = isPaid(state) || deploysWallet(open)
  const isMissing = isDecisive && nonceState.nonce === 'free' && reported !== undefined
  const hasFailed = isMissing && (await isShownFailed(services, reported, observation))
  const known = { record: open, nonceState, hasFailed, now: now(), cause }
  const action = decide(known)
  if (isDenial(action)) {
    const judged = await judgeDenial(services, open, observed, { denial: action, cause })
    if (judged !== 'confirmed') return noteDenial(services, open, judged)
  }
  switch (action) {
    case 'wait':
      return nonceState.nonce === 'unclear' || endsOnceFinal(known) ? open : noteDenial(services, open, undefined)
    case 'settle':
      return settleAgain(services, open, { observation, waitLimit })
    case 'reopen':
    case 'retract': {
      report('settlement_not_on_chain', facilitatorError(open.facilitator))
      await services.doubts.note(open)
      const reopened = await advance(services, open, { state: 'unknown', payment_response: null })
      return reopened ? reconcileObserved(services, reopened, observed, { cause, waitLimit }) : reload(services, open)
    }
    default:
      return recordDecision(services, open, { action, nonceState, observation })
  }
}

/** Stores the first denial of a payment, or removes it because a later observation contradicts it. */
async function noteDenial(
  services: SettlementServices,
  record: ResponseRecord,
  first_denial: FirstDenial | undefined,
): Promise<ResponseRecord> {
  if (record.first_denial === first_denial || isFinal(record.state)) return record
  const { state, updated_at } = record
  return advanceOrReload(services, record, { state, updated_at, first_denial })
}
