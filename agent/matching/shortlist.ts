/** The best candidates so far, in the order they are returned in. */
import type { Company } from '../../store/company.ts'
import type { Candidate } from '../operation/result.ts'
import { CANDIDATES_MAX } from '../operation/schema.ts'

/** Status texts of companies that no longer exist; "Strike Off Listed" is one that still does. */
const ENDED = /^(?:dissolved|ceased|deleted|struck off)/i

interface Entry {
  candidate: Candidate
  /** Its place in the order of company numbers. */
  name: number
}

export class Shortlist {
  readonly #entries: Entry[] = []

  /** Whether a candidate of this score might still be among the first. */
  admits(score: number): boolean {
    const last = this.#entries[CANDIDATES_MAX - 1]
    return last === undefined || score >= last.candidate.score
  }

  add(name: number, candidate: Candidate): void {
    const entry = { candidate, name }
    const place = this.#entries.findIndex((other) => byRank(entry, other) < 0)
    this.#entries.splice(place === -1 ? this.#entries.length : place, 0, entry)
    this.#entries.length = Math.min(this.#entries.length, CANDIDATES_MAX)
  }

  candidates(): Candidate[] {
    return this.#entries.map(({ candidate }) => candidate)
  }
}

/** Score, then evidence, then live before ended, then the lower company number. */
function byRank(one: Entry, other: Entry): number {
  return (
    other.candidate.score - one.candidate.score ||
    evidence(other.candidate) - evidence(one.candidate) ||
    Number(hasEnded(one.candidate.company)) - Number(hasEnded(other.candidate.company)) ||
    one.name - other.name
  )
}

/** An Eircode says more than an address, and what contradicts less than what says nothing. */
function evidence({ signals: { eircode_exact, address_contains } }: Candidate): number {
  return 3 * worth(eircode_exact) + worth(address_contains)
}

function worth(signal: boolean | null): number {
  if (signal === null) return 0
  return signal ? 1 : -1
}

export function hasEnded({ status, dissolved_date }: Company): boolean {
  return dissolved_date !== null || ENDED.test(status ?? '')
}
