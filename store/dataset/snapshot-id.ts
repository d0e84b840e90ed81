/**
 * The snapshot id: equal for everyone who imports the same archive.
 *
 * SHA-256 over lines that end in a line feed: first the version of the normalisation, then every entry in the order of
 * its company number (shorter first, then byte by byte), each as RFC 8785 JSON. Row order, ZIP encoding and date of the
 * archive do not change it.
 */
import { createHash } from 'node:crypto'
import { companySchema, NORMALISATION_VERSION, type Company, type SnapshotEntry } from './company.ts'

const SORTED_NAMES = companySchema.keyof().options.toSorted()

export class SnapshotHash {
  readonly #hash = createHash('sha256').update(`${JSON.stringify({ normalisation: NORMALISATION_VERSION })}\n`)

  /** Adds one entry. The caller adds entries in the order of their numbers. */
  add(companyNumber: string, entry: SnapshotEntry): this {
    this.#hash.update(`${canonicalEntry(companyNumber, entry)}\n`)
    return this
  }

  /** `sha256:` and 64 hexadecimal digits. No entry can be added afterwards. */
  id(): string {
    return `sha256:${this.#hash.digest('hex')}`
  }
}

function canonicalEntry(companyNumber: string, entry: SnapshotEntry): string {
  const members = entry === 'quarantined' ? { company_number: companyNumber, quarantined: true } : sortMembers(entry)
  return JSON.stringify(members)
}

/** For strings, arrays and nulls, RFC 8785 JSON is plain JSON with sorted names. */
function sortMembers(company: Company): object {
  const { eircode, lines } = company.registered_address
  const sorted: Record<string, unknown> = {}
  for (const name of SORTED_NAMES) sorted[name] = name === 'registered_address' ? { eircode, lines } : company[name]
  return sorted
}
