/** Confirms what leaves a payment unpaid by a second observation. No working node may contradict it. */
import type { FirstDenial, ResponseRecord } from '../../store/log/record.ts'
import { isNear, toMs } from './chain/clock.ts'
import type { Observation } from './chain/observe.ts'
import { decide, endsOnceFinal, type Cause } from './decide.ts'
import { observeRecords, type ObservedRecord } from './observe-records.ts'
import type { PaymentServices } from './services.ts'

/** The shortest distance of two observations that end a payment, on the local clock and in block time. */
export const APART_MS = 60_000

/**
 * A payment ends without an answer only if two observations agree and no working node contradicts them. The two are of
 * two nodes. While no other node works, they are of one, with a minute and a new final block between them. If this one
 * is not confirmed, returns it for the record.
 */
export async function judgeDenial(
  payments: PaymentServices,
  record: ResponseRecord,
  { observation }: ObservedRecord,
  { denial, cause }: { denial: ReturnType<typeof decide>; cause: Cause },
): Promise<'confirmed' | FirstDenial | undefined> {
  const { chain, now } = payments
  const others = Array.from({ length: chain.nodeCount }, (_, node) => node).filter((node) => node !== observation.node)
  const decisions = await Promise.all(others.map((node) => decideFrom(payments, record, node, cause)))
  const actions = decisions.filter((action) => action !== undefined)
  if (actions.length > 0) return actions.every((action) => action === denial) ? 'confirmed' : undefined
  // The token has reverted the transfer.
  if (denial === 'refused') return 'confirmed'
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
  return isFinalNewer && toMs(time - BigInt(first.time)) >= APART_MS
}

/**
 * Undefined if the node does not work: it does not answer, its block is old, or only its final block, which may have
 * stopped, keeps the payment open.
 */
async function decideFrom(payments: PaymentServices, record: ResponseRecord, node: number, cause: Cause) {
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
