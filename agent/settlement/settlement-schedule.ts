/**
 * When a payment with an unknown outcome may be settled again. The rule uses only the record, so it holds after a restart
 * and on every machine that shares the response log.
 */
import type { ResponseRecord } from '../../store/record.ts'

/** Limits what retries of one buyer cost the facilitator. After that only the chain ends the record (contract 5.7.11). */
const SETTLEMENTS_MAX = 20
/** The time from the start of one settlement to the next one. It doubles with each settlement (contract 5.7.11). */
const DELAY_FIRST_MS = 5_000
/** A tenth of the lifetime of an authorization, so that a facilitator that recovers is soon asked again. */
const DELAY_MAX_MS = 30_000
/** A transaction that reverts costs the relayer gas. One revert can be caused by the state of a single block. */
const REVERTS_MAX = 2

type Attempts = Pick<ResponseRecord, 'attempt' | 'reverts' | 'prepared_at' | 'settling_at'>

export function maySettleAgain({ attempt, reverts = 0, prepared_at, settling_at }: Attempts, now: Date): boolean {
  if (attempt >= SETTLEMENTS_MAX || reverts >= REVERTS_MAX) return false
  const delay = Math.min(DELAY_FIRST_MS * 2 ** (attempt - 1), DELAY_MAX_MS)
  // A start in the future is that of another clock, or the local clock was set back. One far in the future does not count.
  return Math.abs(now.getTime() - Date.parse(settling_at ?? prepared_at)) >= delay
}
