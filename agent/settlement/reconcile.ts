/** Reconciles a record with what an observation of the chain shows of its payment: observe, decide, act. */
import { isFinal, type FirstDenial, type ResponseRecord } from '../../store/log/record.ts'
import type { Observation } from './chain/observe.ts'
import { observeRecords, unlessUnreadable, type ObservedRecord } from './observe-records.ts'
import { isNear } from './chain/clock.ts'
import { decide, type Action, type Cause } from './decide.ts'
import { facilitatorError } from './facilitator/facilitator.ts'
import type { PaymentServices } from './services.ts'
import { advance, advanceOrReload, recordDecision, reload } from './record-decision.ts'
import { settleAgain, type WaitLimit } from './settle.ts'

/** The shortest distance of two observations that end a payment, on the local clock and in block time. */
export const APART_MS = 60_000

/** Actions that leave a payment unpaid. One observation can come from a fork, so two must agree. */
type Denial = 'reopen' | 'rejected' | 'expired'

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
  const { recentAttempts, now, report } = payments
  const { observation } = observed
  recentAttempts.noteObserved(record.identity)
  const nonceState = await unlessUnreadable(payments, observed.readNonce)
  if (!nonceState) return record
  // The request that began this settlement has ended without its outcome.
  const open = record.state === 'settling' ? await advance(payments, record, { state: 'unknown' }) : record
  if (!open) return reload(payments, record)
  const known = { record: open, nonceState, now: now(), cause }
  const action = decide(known)
  if (isDenial(action)) {
    const judged = await judgeDenial(payments, open, observed, { denial: action, cause })
    if (judged !== 'confirmed') return noteDenial(payments, open, judged)
  }
  switch (action) {
    case 'wait':
      return nonceState.nonce === 'unclear' || endsOnceFinal(known) ? open : noteDenial(payments, open, undefined)
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
 * A payment ends without an answer only if two observations agree and no working node contradicts them. The two are of
 * two nodes. While no other node works, they are of one, with a minute and a new final block between them. If this one
 * is not confirmed, returns it for the record.
 */
async function judgeDenial(
  payments: PaymentServices,
  record: ResponseRecord,
  { observation }: ObservedRecord,
  { denial, cause }: { denial: Denial; cause: Cause },
): Promise<'confirmed' | FirstDenial | undefined> {
  const { chain, now } = payments
  const others = Array.from({ length: chain.nodeCount }, (_, node) => node).filter((node) => node !== observation.node)
  const decisions = await Promise.all(others.map((node) => decideFrom(payments, record, node, cause)))
  const actions = decisions.filter((action) => action !== undefined)
  if (actions.length > 0) return actions.every((action) => action === denial) ? 'confirmed' : undefined
  const { first_denial: first } = record
  const { time, final } = observation
  const at = now()
  const isSame = first?.action === denial && Date.parse(first.at) <= at.getTime()
  if (isSame && at.getTime() - Date.parse(first.at) < APART_MS) return first
  if (isSame && isLater(observation, first)) return 'confirmed'
  // The first one can come from a fork that is ahead of the chain, so it is replaced after a minute.
  return { action: denial, time: String(time), final_block: String(final?.number ?? ''), at: at.toISOString() }
}

function isLater({ time, final }: Observation, first: FirstDenial): boolean {
  const isFinalNewer = final !== undefined && first.final_block !== '' && final.number > BigInt(first.final_block)
  return isFinalNewer && Number(time - BigInt(first.time)) * 1000 >= APART_MS
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

/**
 * Undefined if the node does not work: it does not answer, its block is old, or only its final block, which may have
 * stopped, keeps the payment open.
 */
async function decideFrom(
  payments: PaymentServices,
  record: ResponseRecord,
  node: number,
  cause: Cause,
): Promise<Action | undefined> {
  try {
    const [other] = await observeRecords(payments, [record], { withFinal: true, node })
    if (!other || !isNear(other.observation.time, payments.now())) return undefined
    const known = { record, nonceState: await other.readNonce(), now: payments.now(), cause }
    const action = decide(known)
    return action === 'wait' && endsOnceFinal(known) ? undefined : action
  } catch {
    // Nodes that fail for a minute are reported.
    return undefined
  }
}

/** Whether the payment would end without an answer if the observed block were final. */
function endsOnceFinal({ nonceState, ...known }: Parameters<typeof decide>[0]): boolean {
  const final = nonceState.nonce === 'free' ? { finalTime: nonceState.time } : { isFinal: true }
  return isDenial(decide({ ...known, nonceState: { ...nonceState, ...final } }))
}
