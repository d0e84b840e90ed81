/** Reconciles a record with what an observation of the chain shows of its payment: observe, decide, act. */
import type { ResponseRecord } from '../../store/log/record.ts'
import { observeRecords, unlessUnreadable, type ObservedRecord } from './observe-records.ts'
import { isNear } from './chain/clock.ts'
import { decide, type Action, type Cause, type NonceState } from './decide.ts'
import { facilitatorError } from './facilitator/facilitators.ts'
import type { Denial } from './past-observations.ts'
import type { PaymentServices } from './services.ts'
import { advance, recordDecision, reload } from './record-decision.ts'
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

/** Reconciles a record that was observed. */
export async function reconcileObserved(
  payments: PaymentServices,
  record: ResponseRecord,
  observed: ObservedRecord,
  { cause, waitLimit }: Reconciliation,
): Promise<ResponseRecord> {
  const { pastObservations, now, report } = payments
  const { observation } = observed
  pastObservations.noteObserved(record.identity)
  const nonceState = await unlessUnreadable(payments, observed.readNonce)
  if (!nonceState) return record
  // The request that began this settlement has ended without its outcome.
  const open = record.state === 'settling' ? await advance(payments, record, { state: 'unknown' }) : record
  if (!open) return reload(payments, record)
  const action = decide({ record: open, nonceState, now: now(), cause })
  if (isDenial(action)) {
    if (!(await isDenied(payments, open, observed, { denial: action, cause }))) return open
  } else if (nonceState.nonce !== 'unclear') pastObservations.forgetDenial(open.identity)
  switch (action) {
    case 'wait':
      return open
    case 'settle':
      return settleAgain(payments, open, waitLimit)
    case 'reopen': {
      report('settlement_not_on_chain', facilitatorError(open.facilitator))
      const reopened = await advance(payments, open, { state: 'unknown', payment_response: null })
      return reopened ? reconcileObserved(payments, reopened, observed, { cause, waitLimit }) : reload(payments, open)
    }
    default:
      return recordDecision(payments, open, { action, nonceState, observation })
  }
}

function isDenial(action: Action): action is Denial {
  return action === 'reopen' || action === 'rejected' || action === 'expired'
}

/**
 * An end without an answer to the buyer needs two observations that agree, and none of a working node that contradicts:
 * of two nodes or, while no other one works, of one node with a minute and a new final block between them.
 */
async function isDenied(
  payments: PaymentServices,
  record: ResponseRecord,
  { observation }: ObservedRecord,
  { denial, cause }: { denial: Denial; cause: Cause },
): Promise<boolean> {
  const { chain, pastObservations, now } = payments
  const others = Array.from({ length: chain.nodeCount }, (_, node) => node).filter((node) => node !== observation.node)
  const states = await Promise.all(others.map((node) => readFrom(payments, record, node)))
  const actions = states.flatMap((nonceState) =>
    nonceState ? [decide({ record, nonceState, now: now(), cause })] : [],
  )
  if (actions.length === 0) return pastObservations.isConfirmed(record.identity, denial, observation)
  if (actions.every((action) => action === denial)) return true
  pastObservations.forgetDenial(record.identity)
  return false
}

/** Undefined if the node does not work: it does not answer, or its block is old. */
async function readFrom(
  payments: PaymentServices,
  record: ResponseRecord,
  node: number,
): Promise<NonceState | undefined> {
  try {
    const [other] = await observeRecords(payments, [record], { withFinal: true, node })
    if (!other || !isNear(other.observation.time, payments.now())) return undefined
    return await other.readNonce()
  } catch {
    // Nodes that fail for a minute are reported.
    return undefined
  }
}
