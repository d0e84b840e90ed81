/** Whether a resolution names one company (spec 4.3, rules 3 to 5). */
import type { Candidate, ResolveResponse } from '../operation/result.ts'

/** Spec 8. */
const MATCH_SCORE_MIN = 900
const MATCH_MARGIN_MIN = 80

/** An address is written in too many ways for its absence to contradict anything. */
const CONTRADICTIONS: ReadonlySet<Candidate['conflicts'][number]> = new Set(['eircode_mismatch', 'name_mismatch'])

/** Of candidates in the order of their scores. Each line is a reason to say less than "matched". */
export function decide(
  [top, next]: readonly Candidate[],
  { isTruncated }: { isTruncated: boolean },
): ResolveResponse['status'] {
  if (top === undefined) return 'no_match'
  if (isTruncated) return 'ambiguous'
  if (top.conflicts.some((conflict) => CONTRADICTIONS.has(conflict))) return 'conflicting'
  if (top.score < MATCH_SCORE_MIN) return 'ambiguous'
  if (next !== undefined && top.score - next.score < MATCH_MARGIN_MIN) return 'ambiguous'
  return 'matched'
}
