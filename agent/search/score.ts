/** Scores of candidates (contract 12.2). SCORE_DEFINITION in version.ts states the same values to clients. */
import { SCORE_MAX, type Candidate, type MatchSignals } from '../operation/result.ts'

type MatchType = Candidate['match_type']

const SCORES = { company_number: 1000, strict_name: 1000, relaxed_name: 960 }
const FUZZY_SCORE_MAX = 850
const EIRCODE_SCORE = 80
const ADDRESS_SCORE = 40

/** The most that evidence adds to the score of a name. */
export const EVIDENCE_SCORE_MAX = EIRCODE_SCORE + ADDRESS_SCORE

/** The score without evidence. */
export function nameScore(matchType: MatchType, similarity: number): number {
  return matchType === 'fuzzy_name' ? Math.floor(FUZZY_SCORE_MAX * similarity) : SCORES[matchType]
}

export function computeScore(matchType: MatchType, signals: MatchSignals): number {
  const evidence =
    (signals.eircode_exact === true ? EIRCODE_SCORE : 0) + (signals.address_contains === true ? ADDRESS_SCORE : 0)
  return Math.min(SCORE_MAX, nameScore(matchType, signals.name_similarity) + evidence)
}
