/** Keeps the best candidates seen so far, in the order of the response (contract 12.3). */
import { compareCompanyNumbers, type Company } from '../../../store/dataset/company.ts'
import type { Candidate } from '../../operation/result.ts'
import { CANDIDATES_MAX } from '../../operation/fields.ts'

/** Status texts of companies that no longer exist. "Strike Off Listed" is not one of them. */
const DISSOLVED = /^(?:dissolved|ceased|deleted|struck off)/i

export class TopCandidates {
  readonly #candidates: Candidate[] = []
  readonly #max: number

  constructor(max = CANDIDATES_MAX) {
    this.#max = max
  }

  /** Whether a candidate of this score could still be among the best. */
  canEnter(score: number): boolean {
    const last = this.#candidates[this.#max - 1]
    return last === undefined || score >= last.score
  }

  add(candidate: Candidate): void {
    const at = this.#candidates.findIndex((other) => compareRank(candidate, other) < 0)
    this.#candidates.splice(at === -1 ? this.#candidates.length : at, 0, candidate)
    this.#candidates.length = Math.min(this.#candidates.length, this.#max)
  }

  candidates(): Candidate[] {
    return [...this.#candidates]
  }
}

/** Orders by score, evidence, live before dissolved, then the lower company number. */
function compareRank(one: Candidate, other: Candidate): number {
  return (
    other.score - one.score ||
    evidenceRank(other) - evidenceRank(one) ||
    Number(isDissolved(one.company)) - Number(isDissolved(other.company)) ||
    compareCompanyNumbers(one.company.company_number, other.company.company_number)
  )
}

/** A number outweighs an Eircode, which outweighs an address. Contradicting evidence ranks below missing evidence. */
function evidenceRank({ signals: { company_number_exact, eircode_exact, address_contains } }: Candidate): number {
  return 9 * Number(company_number_exact) + 3 * signalRank(eircode_exact) + signalRank(address_contains)
}

function signalRank(signal: boolean | null): number {
  if (signal === null) return 0
  return signal ? 1 : -1
}

export function isDissolved({ status, dissolved_date }: Company): boolean {
  return dissolved_date !== null || DISSOLVED.test(status ?? '')
}
