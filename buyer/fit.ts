/** How well a candidate fits the query, in words. Runs in browsers too. */
import { SIMILAR_SCORE_MIN, type Candidate } from '../agent/operation/result.ts'

/** Whether the names have only a word in common. Such a candidate is rarely the company that was meant. */
export const sharesOnlyWord = ({ match_type, score }: Pick<Candidate, 'match_type' | 'score'>): boolean =>
  match_type === 'fuzzy_name' && score < SIMILAR_SCORE_MIN

export function fitOf(candidate: Pick<Candidate, 'match_type' | 'score'>): string {
  if (candidate.match_type === 'company_number') return 'same number'
  if (candidate.match_type !== 'fuzzy_name') return 'same name'
  return sharesOnlyWord(candidate) ? 'shares a word' : 'similar'
}
