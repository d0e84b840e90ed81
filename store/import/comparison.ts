/**
 * Compares a new file with the served snapshot, while its entries are read in the order of their numbers. The findings
 * decide whether it is published (contract 11.11).
 */
import { decodeOwnEntry, TEXT_FIELDS } from '../dataset/company-entry.ts'
import type { Company, SnapshotEntry } from '../dataset/company.ts'
import { storedEntries, type StoredEntry } from '../dataset/snapshot.ts'
import { companyNumberOf } from '../files/layout.ts'

/** What a child process needs to compare, as JSON. */
export interface ComparedWith {
  /** The folder of the served snapshot. */
  folder: string
  /** `numbers`: its numbers must be there. `all`: the records must also be about the same. */
  rules: 'none' | 'numbers' | 'all'
  /** Full days since the served snapshot was imported. */
  days: number
}

/** A figure with its limit, as a line without text of the file. */
export interface Finding {
  rule: ComparedWith['rules']
  text: string
  isBeyond: boolean
}

const KEPT_SHARE_MIN = 0.9
/** The register changes fewer than one in a hundred records a day. */
const CHANGED_SHARE_MAX = 0.2
const CHANGED_SHARE_PER_DAY = 0.1

const WATCHED_FIELDS = TEXT_FIELDS.filter((field) => /^(?:legal_name|status)$|_date$/.test(field))

/** Companies are numbers that are not quarantined. */
export class Comparison {
  /** Counts of numbers: only in the new file, only in the served snapshot, or in both with different records. */
  readonly changes = { added: 0, removed: 0, changed: 0 }
  readonly #days: number
  readonly #served: ReturnType<typeof storedEntries>
  #next: StoredEntry | undefined
  /** Of the served snapshot. */
  #companies = 0
  #kept = 0
  #changed = 0

  constructor({ folder, days }: ComparedWith) {
    this.#days = days
    this.#served = storedEntries(folder)
    this.#advance()
  }

  /** `value` is the encoded entry. */
  add(key: string, value: Buffer, entry: SnapshotEntry): void {
    this.#countLost((lost) => lost < key)
    const after = companyOf(entry)
    if (this.#next?.key !== key) {
      this.changes.added += 1
      return this.#count(undefined, after)
    }
    const isSame = this.#next.value.equals(value)
    if (!isSame) this.changes.changed += 1
    this.#count(isSame ? after : decode(this.#next), after)
    this.#advance()
  }

  finish(): Finding[] {
    this.#countLost(() => true)
    const companies = this.#companies
    const [kept, changed] = [share(this.#kept, companies), share(this.#changed, this.#kept)]
    const changedMax = CHANGED_SHARE_MAX + CHANGED_SHARE_PER_DAY * Math.max(0, this.#days - 1)
    return [
      {
        rule: 'numbers',
        text: `${percent(kept)} of ${companies} companies are still there (at least ${percent(KEPT_SHARE_MIN)})`,
        isBeyond: companies > 0 && kept < KEPT_SHARE_MIN,
      },
      {
        rule: 'all',
        text: `${percent(changed)} of them change in name, status, address or a date (at most ${percent(changedMax)})`,
        isBeyond: changed > changedMax,
      },
    ]
  }

  /** Counts the companies that the file does not have. */
  #countLost(isLost: (key: string) => boolean): void {
    for (; this.#next && isLost(this.#next.key); this.#advance()) {
      this.changes.removed += 1
      this.#count(decode(this.#next), undefined)
    }
  }

  /** A snapshot that cannot be read further ends here. The file will replace it. */
  #advance(): void {
    try {
      this.#next = this.#served.next().value
    } catch {
      this.#next = undefined
    }
  }

  /** Most companies are the same object before and after. */
  #count(before: Company | undefined, after: Company | undefined): void {
    if (!before) return
    this.#companies += 1
    if (!after) return
    this.#kept += 1
    if (before !== after && watched(before) !== watched(after)) this.#changed += 1
  }
}

/** A damaged record counts as absent. */
function decode({ key, value }: StoredEntry): Company | undefined {
  try {
    return companyOf(decodeOwnEntry(companyNumberOf(key), value))
  } catch {
    return undefined
  }
}

const companyOf = (entry: SnapshotEntry) => (entry === 'quarantined' ? undefined : entry)
const share = (part = 0, whole = 0) => (whole === 0 ? 0 : part / whole)
const percent = (part: number) => `${(100 * part).toFixed(1)} %`

const watched = (company: Company) =>
  JSON.stringify([...WATCHED_FIELDS.map((field) => company[field]), company.registered_address])
