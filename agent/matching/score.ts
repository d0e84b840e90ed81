/** The scores of spec 4.3, rule 2. */
import { SCORE_MAX, type Candidate, type MatchSignals } from '../operation/result.ts'

type MatchType = Candidate['match_type']

const STRICT_SCORE = 1000
const RELAXED_SCORE = 960
const FUZZY_SCORE_MAX = 850
const NUMBER_SCORE = 1000
const EIRCODE_SCORE = 80
const ADDRESS_SCORE = 40

/** What evidence beside the name can add at most. */
export const EVIDENCE_SCORE_MAX = EIRCODE_SCORE + ADDRESS_SCORE

/** The score of a name alone. */
export function nameScore(matchType: MatchType, similarity: number): number {
  switch (matchType) {
    case 'company_number':
      return NUMBER_SCORE
    case 'strict_name':
      return STRICT_SCORE
    case 'relaxed_name':
      return RELAXED_SCORE
    case 'fuzzy_name':
      return Math.floor(FUZZY_SCORE_MAX * similarity)
  }
}

export function scoreOf(matchType: MatchType, signals: MatchSignals): number {
  const evidence =
    (signals.eircode_exact === true ? EIRCODE_SCORE : 0) + (signals.address_contains === true ? ADDRESS_SCORE : 0)
  return Math.min(SCORE_MAX, nameScore(matchType, signals.name_similarity) + evidence)
}
