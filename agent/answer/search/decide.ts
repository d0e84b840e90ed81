/** Decides the status of a resolution from its ranked candidates (contract 12.5). */
import type { ResolveResponse } from '../../operation/resolve.ts'
import type { Candidate } from '../../operation/result.ts'

const MATCH_SCORE_MIN = 900
const MATCH_MARGIN_MIN = 80

/** Expects the candidates in descending order of score. The first rule that applies decides. */
export function decideStatus(
  [first, second]: readonly Candidate[],
  { isTruncated }: { isTruncated: boolean },
): ResolveResponse['status'] {
  if (first === undefined) return 'no_match'
  if (isTruncated) return 'ambiguous'
  if (first.conflicts.length > 0) return 'conflicting'
  if (first.score < MATCH_SCORE_MIN) return 'ambiguous'
  if (second !== undefined && first.score - second.score < MATCH_MARGIN_MIN) return 'ambiguous'
  return 'matched'
}
