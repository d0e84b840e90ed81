/** Keeps the best candidates seen so far, in the order of the response (contract 12.3). */
import type { Company } from '../../store/company.ts'
import type { Candidate } from '../operation/result.ts'
import { CANDIDATES_MAX } from '../operation/schema.ts'

/** Status texts of companies that no longer exist. "Strike Off Listed" is not one of them. */
const DISSOLVED = /^(?:dissolved|ceased|deleted|struck off)/i

interface Entry {
  candidate: Candidate
  /** Position in the name index, which is in the order of company numbers. */
  name: number
}

export class TopCandidates {
  readonly #entries: Entry[] = []

  /** Whether a candidate of this score could still be among the best. */
  canEnter(score: number): boolean {
    const last = this.#entries[CANDIDATES_MAX - 1]
    return last === undefined || score >= last.candidate.score
  }

  add(name: number, candidate: Candidate): void {
    const entry = { candidate, name }
    const at = this.#entries.findIndex((other) => compareRank(entry, other) < 0)
    this.#entries.splice(at === -1 ? this.#entries.length : at, 0, entry)
    this.#entries.length = Math.min(this.#entries.length, CANDIDATES_MAX)
  }

  candidates(): Candidate[] {
    return this.#entries.map(({ candidate }) => candidate)
  }
}

/** Orders by score, evidence, live before dissolved, then the lower company number. */
function compareRank(one: Entry, other: Entry): number {
  return (
    other.candidate.score - one.candidate.score ||
    evidenceRank(other.candidate) - evidenceRank(one.candidate) ||
    Number(isDissolved(one.candidate.company)) - Number(isDissolved(other.candidate.company)) ||
    one.name - other.name
  )
}

/** An Eircode outweighs an address. Contradicting evidence ranks below missing evidence. */
function evidenceRank({ signals: { eircode_exact, address_contains } }: Candidate): number {
  return 3 * signalRank(eircode_exact) + signalRank(address_contains)
}

function signalRank(signal: boolean | null): number {
  if (signal === null) return 0
  return signal ? 1 : -1
}

export function isDissolved({ status, dissolved_date }: Company): boolean {
  return dissolved_date !== null || DISSOLVED.test(status ?? '')
}
