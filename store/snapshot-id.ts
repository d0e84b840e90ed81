/**
 * The snapshot id: what two people with the same archive both arrive at.
 *
 * SHA-256 over lines that end in a line feed: first the version of the normalisation, then every entry in the byte order
 * of its company number, each as RFC 8785 JSON. The archive's own row order, its ZIP form and its date don't enter.
 */
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { companySchema, type Entry } from './company.ts'

/** Every name that an entry may hold, sorted: JSON of texts, arrays and nulls with its names in order is RFC 8785. */
const SORTED_NAMES = ['quarantined', 'eircode', 'lines', ...Object.keys(companySchema.shape)].toSorted()

/** Raised whenever the same row may come out as another record. */
export const NORMALISATION_VERSION = 'cro-1'

export class SnapshotHash {
  readonly #hash = createHash('sha256').update(`${canonicalize({ normalisation: NORMALISATION_VERSION })}\n`)

  /** Adds one entry; the caller adds them in the byte order of their numbers. */
  add(companyNumber: string, entry: Entry): this {
    const line = entry === 'quarantined' ? { company_number: companyNumber, quarantined: true } : entry
    this.#hash.update(`${JSON.stringify(line, SORTED_NAMES)}\n`)
    return this
  }

  /** `sha256:` and 64 hex digits. Nothing can be added afterwards. */
  id(): string {
    return `sha256:${this.#hash.digest('hex')}`
  }
}
