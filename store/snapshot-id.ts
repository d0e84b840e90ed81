/**
 * The snapshot id: what two people with the same archive both arrive at.
 *
 * SHA-256 over lines that end in a line feed: first the version of the normalisation, then every entry in the order
 * of its company number (shorter ones first, then byte by byte), each as RFC 8785 JSON. The archive's own row order, its ZIP form and its date don't enter.
 */
import { createHash } from 'node:crypto'
import { companyOf, VALUES_MIN, valuesOf, type Entry, type StoredRecord, type StoredValue } from './company.ts'

/** Raised whenever the same archive may come out as another snapshot. */
export const NORMALISATION_VERSION = 'cro-3'

/** Lines are hashed together up to this length: a call for each of a million takes longer than the hashing. */
const CHUNK_CHARACTERS = 64 * 1024

/** Instead of a place: the address is the one field whose value is no text. */
const ADDRESS = -1

export class SnapshotHash {
  readonly #hash = createHash('sha256')
  #lines = `${JSON.stringify({ normalisation: NORMALISATION_VERSION })}\n`

  /** Adds one entry; the caller adds them in the order of their numbers. */
  add(companyNumber: string, entry: Entry): this {
    return this.addStored(companyNumber, entry === 'quarantined' ? entry : { values: valuesOf(entry), isPlain: false })
  }

  /** The same of what is stored, which is not made into an object and out of it again for a million entries. */
  addStored(companyNumber: string, record: StoredRecord | 'quarantined'): this {
    const number = JSON.stringify(companyNumber)
    this.#lines +=
      record === 'quarantined' ? `{"company_number":${number},"quarantined":true}\n` : `${lineOf(number, record)}\n`
    if (this.#lines.length > CHUNK_CHARACTERS) this.#flush()
    return this
  }

  /** `sha256:` and 64 hex digits. Nothing can be added afterwards. */
  id(): string {
    this.#flush()
    return `sha256:${this.#hash.digest('hex')}`
  }

  #flush(): void {
    this.#hash.update(this.#lines)
    this.#lines = ''
  }
}

/** Where the value of each field stands among the stored ones, in the order of RFC 8785: the names' own. */
const FIELDS = Object.entries(
  companyOf(
    '',
    Array.from({ length: VALUES_MIN }, (_, place) => String(place)),
  ),
)
  .filter(([name]) => name !== 'company_number')
  .toSorted(([one], [other]) => (one < other ? -1 : 1))
  .map(([name, place]) => ({ prefix: `,"${name}":`, place: typeof place === 'string' ? Number(place) : ADDRESS }))

/** A company as RFC 8785 JSON, which of texts, arrays and nulls is JSON with sorted names. */
function lineOf(number: string, { values, isPlain }: StoredRecord): string {
  const json = isPlain ? quoted : JSON.stringify
  let line = `{"company_number":${number}`
  for (const { prefix, place } of FIELDS) {
    line += prefix + (place === ADDRESS ? addressOf(values, json) : json(values[place] ?? null))
  }
  return `${line}}`
}

function addressOf(values: readonly StoredValue[], json: (value: StoredValue) => string): string {
  const lines = values.slice(VALUES_MIN).map((line) => json(line))
  return `{"eircode":${json(values[VALUES_MIN - 1] ?? null)},"lines":[${lines.join(',')}]}`
}

function quoted(value: StoredValue): string {
  return value === null ? 'null' : `"${value}"`
}
