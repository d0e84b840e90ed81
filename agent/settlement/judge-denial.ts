/** Whether a payment ends without an answer, or returns to `unknown`: the only place that needs two observations. */
import type { FirstDenial, ResponseRecord } from '../../store/log/record.ts'
import { toMs } from './chain/clock.ts'
import type { Observation } from './chain/observe.ts'
import { ask } from './chain/reader.ts'
import { decide, endsOnceFinal, type Cause } from './decide.ts'
import { observedIn, questionOf, type ObservedRecord } from './observe-records.ts'
import type { SettlementServices } from './services.ts'

/** The shortest distance of two observations of one node that end a payment, on the local clock and in block time. */
export const APART_MS = 60_000

/**
 * Confirmed if all nodes agree that work. While no other one does, the first observation, which the record keeps, and a
 * later one of a newer final block do. If this one is not confirmed, returns it for the record.
 */
export async function judgeDenial(
  services: SettlementServices,
  record: ResponseRecord,
  { observation }: ObservedRecord,
  { denial, cause }: { denial: ReturnType<typeof decide>; cause: Cause },
): Promise<'confirmed' | FirstDenial | undefined> {
  const question = questionOf([record], { withFinal: true })
  const answer = await ask(services, {
    ...question,
    first: { observation, verdict: denial },
    judge: (other) => decideFrom(services, observedIn(services, record, other), { record, cause }),
    needs: () => 'agreed by all',
  })
  if (answer.kind === 'contradicted') return undefined
  // The token has reverted a refused transfer.
  if (answer.kind === 'agreed' || denial === 'refused') return 'confirmed'
  const { first_denial: first } = record
  const { time, final } = observation
  const at = services.now()
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

/** Undefined if only the final block of the node, which may have stopped, keeps the payment open. */
async function decideFrom(
  { now }: SettlementServices,
  observed: ObservedRecord,
  { record, cause }: { record: ResponseRecord; cause: Cause },
) {
  const known = { record, nonceState: await observed.readNonce(), now: now(), cause }
  const action = decide(known)
  return action === 'wait' && endsOnceFinal(known) ? undefined : action
}
