/**
 * Reads the journal: what each file of the register said about a number, and what changed from one file to the next.
 */
import type { Company } from '../dataset/company.ts'
import { companyKey, companyNumberOf } from '../files/layout.ts'
import { checkHead, orStoreError, StoreError, toStoreError } from '../files/environment.ts'
import { hasFormerNames } from './former-names.ts'
import {
  ABSENT_BYTES,
  decodeVersion,
  HistoryDatabase,
  type StoredVersion,
  type VersionEntry,
} from './history-database.ts'
import { dateOf, dateOfDay, dayNumber, dayOf, firstKeyOf, nextDate, type Step } from './step.ts'

interface Version {
  entry: VersionEntry
  /** The first step that said it. */
  since: Step
  /** The last step that said it. Null while it is current. */
  lastSeen: Step | null
}

interface Change {
  step: Step
  company_number: string
  before: VersionEntry
  after: VersionEntry
}

interface ChangeRange {
  /** The first and the last day, `YYYY-MM-DD`. */
  since: string
  until: string
  /** Only changes after this one. */
  after?: { step: string; company_number: string } | undefined
  /** Only changes of these numbers. They are read from the versions of the numbers. */
  companyNumbers?: readonly string[] | undefined
}

/** Both days, `YYYY-MM-DD`, are part of it. */
interface DayRange {
  from: string
  to: string
}

/**
 * Every read throws a {@link StoreError} if the journal is damaged. The reads of one turn of the event loop see one
 * state, and those of a pinned journal the state of its pinning.
 */
export class Journal {
  readonly #history: HistoryDatabase

  /** @throws StoreError if there is no journal */
  constructor(source: string | Journal) {
    const origin = typeof source === 'string' ? source : source.#history
    this.#history = new HistoryDatabase(origin, { readOnly: true })
  }

  /** The journal in its present state, whatever is recorded meanwhile. Close it soon: it keeps old pages on disk. */
  pin(): Journal {
    checkHead(this.#history.folder)
    return new Journal(this)
  }

  close(): Promise<void> {
    return this.#history.close()
  }

  /** Undefined while the journal is empty. */
  newest(): Step | undefined {
    return this.#read(() => this.#find(this.#history.stepBefore()))
  }

  /** The day of the oldest file. Undefined while the journal is empty. */
  completeSince(): string | undefined {
    const oldest = this.#read(() => this.#history.stepAfter())
    return oldest === undefined ? undefined : dateOf(oldest)
  }

  /** The last step of this day or before. */
  stepOn(date: string): Step | undefined {
    return this.#read(() => this.#find(this.#history.stepBefore(firstKeyOf(nextDate(date)))))
  }

  /** The versions of a number, newest first, of steps before the step `before`. */
  versions(companyNumber: string, before?: string): Iterable<Version> {
    return this.#readEach(this.#versions(companyNumber, before))
  }

  has(companyNumber: string): boolean {
    return this.#read(() => this.#history.latestOf(companyKey(companyNumber)) !== undefined)
  }

  /** What a step said. Undefined if no file until then had the number. */
  versionAt(companyNumber: string, { key: at }: Step): VersionEntry | undefined {
    const key = companyKey(companyNumber)
    return this.#read(() => {
      const version = this.#history.versionAt(key, at)
      return version && decodeVersion(key, version.entry)
    })
  }

  /**
   * At most `limit` companies that had these words as their name, before its legal form, until a day. The register can
   * have given the name back since.
   * @throws StoreError if another normaliser made the index; the next import makes it again
   */
  formerNames(words: readonly string[], limit: number): { company: Company; until: string }[] {
    return this.#read(() => {
      if (!hasFormerNames(this.#history))
        throw new StoreError(`${this.#history.folder}: has the names of another normaliser`)
      return this.#history.formerNames(words, limit).flatMap(({ key, step, until }) => {
        const company = decodeVersion(key, this.#history.findVersion(key, step).entry)
        return typeof company === 'object' ? [{ company, until }] : []
      })
    })
  }

  /** In the order of step and number. The oldest file changes nothing. */
  changes(range: ChangeRange): Iterable<Change> {
    return this.#readEach(this.#changes(range))
  }

  /** The ranges of days from `since` to `until` without a file, in order. */
  gaps(since: string, until: string): DayRange[] {
    const range = { start: firstKeyOf(since), end: firstKeyOf(nextDate(until)) }
    const days = this.#read(() => Array.from(this.#history.stepKeys(range), dayOf))
    const gaps: DayRange[] = []
    let next = dayNumber(since)
    for (const day of [...days, dayNumber(until) + 1]) {
      if (day > next) gaps.push({ from: dateOfDay(next), to: dateOfDay(day - 1) })
      next = day + 1
    }
    return gaps
  }

  *#versions(companyNumber: string, before?: string): Generator<Version, void, void> {
    const key = companyKey(companyNumber)
    let next: string | undefined
    for (const { step, entry } of this.#history.chain(key)) {
      if (before === undefined || step < before) {
        const lastSeen = next === undefined ? null : this.#step(this.#history.stepBefore(next))
        yield { entry: decodeVersion(key, entry), since: this.#step(step), lastSeen }
      }
      next = step
    }
  }

  *#changes({ since, until, after, companyNumbers }: ChangeRange): Generator<Change, void, void> {
    const oldest = this.#history.stepAfter()
    const second = oldest && this.#history.stepAfter(oldest)
    if (second === undefined) return
    const asked = after ? after.step + companyKey(after.company_number) : firstKeyOf(since)
    const start = asked > second ? asked : second
    const range = { start, end: firstKeyOf(nextDate(until)) }
    let step: Step | undefined
    for (const version of companyNumbers
      ? this.#versionsOf(companyNumbers, range)
      : this.#history.versionsFrom(range)) {
      const { key } = version
      const isGiven = after !== undefined && version.step === after.step && key === companyKey(after.company_number)
      if (isGiven) continue
      if (step?.key !== version.step) step = this.#step(version.step)
      const before = version.before === undefined ? ABSENT_BYTES : this.#history.findVersion(key, version.before).entry
      yield {
        step,
        company_number: companyNumberOf(key),
        before: decodeVersion(key, before),
        after: decodeVersion(key, version.entry),
      }
    }
  }

  /** The versions of these numbers in a range, in the order of step and number. */
  #versionsOf(companyNumbers: readonly string[], { start, end }: { start: string; end: string }) {
    const found: { at: string; version: StoredVersion & { key: string } }[] = []
    for (const key of companyNumbers.map(companyKey)) {
      for (const version of this.#history.chain(key)) {
        const at = version.step + key
        if (at < start) break
        if (at < end) found.push({ at, version: { ...version, key } })
      }
    }
    return found.toSorted((one, other) => (one.at < other.at ? -1 : 1)).map(({ version }) => version)
  }

  #find(key: string | undefined): Step | undefined {
    return key === undefined ? undefined : this.#step(key)
  }

  #step(key: string | undefined): Step {
    const step = key === undefined ? undefined : this.#history.findStep(key)
    if (!step) throw new StoreError(`${this.#history.folder}: a step is missing`)
    return step
  }

  get #damaged(): string {
    return `${this.#history.folder}: is damaged`
  }

  #read<T>(use: () => T): T {
    checkHead(this.#history.folder)
    return orStoreError(this.#damaged, use)
  }

  *#readEach<T>(items: Generator<T, void, void>): Generator<T, void, void> {
    try {
      checkHead(this.#history.folder)
      yield* items
    } catch (cause) {
      throw toStoreError(this.#damaged, cause)
    }
  }
}
