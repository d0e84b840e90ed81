/** Reads the journal: what each file of the register said about a number, and what changed from one file to the next. */
import { companyKey, companyNumberOf } from '../files/layout.ts'
import { StoreError } from '../files/environment.ts'
import { ABSENT_BYTES, decodeVersion, HistoryDatabase, type VersionEntry } from './history-database.ts'
import { dateOfDay, dayOf, firstKeyOf, nextDate, type Step } from './step.ts'

export type { VersionEntry } from './history-database.ts'
export type { Step } from './step.ts'

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
}

/** Every read throws a {@link StoreError} if the journal is damaged. The reads of one turn of the event loop see one state. */
export interface Journal {
  /** Undefined while the journal is empty. */
  newest(): Step | undefined
  oldest(): Step | undefined
  /** The last step of this day or before. */
  stepOn(date: string): Step | undefined
  /** The versions of a number, newest first, of steps before the step `before`. */
  versions(companyNumber: string, before?: string): Iterable<Version>
  /** What a step said. Undefined if no file until then had the number. */
  versionAt(companyNumber: string, step: Step): VersionEntry | undefined
  /** In the order of step and number. The oldest file changes nothing. */
  changes(range: ChangeRange): Iterable<Change>
  /** The days from `since` to `until` without a file, in order. */
  gaps(since: string, until: string): string[]
  close(): Promise<void>
}

/** @throws StoreError if there is no journal */
export function openJournal(dataDirectory: string): Journal {
  const history = new HistoryDatabase(dataDirectory, { readOnly: true })
  const reader = new JournalReader(history)
  const read = <T>(use: () => T): T => {
    try {
      return use()
    } catch (cause) {
      throw cause instanceof StoreError ? cause : new StoreError(`${history.folder}: is damaged`, { cause })
    }
  }
  function* readEach<T>(items: Iterable<T>): Generator<T, void, void> {
    const iterator = items[Symbol.iterator]()
    try {
      for (let next = read(() => iterator.next()); !next.done; next = read(() => iterator.next())) yield next.value
    } finally {
      iterator.return?.()
    }
  }
  return {
    newest: () => read(() => reader.newest()),
    oldest: () => read(() => reader.oldest()),
    stepOn: (date) => read(() => reader.stepOn(date)),
    versions: (companyNumber, before) => readEach(reader.versions(companyNumber, before)),
    versionAt: (companyNumber, step) => read(() => reader.versionAt(companyNumber, step)),
    changes: (range) => readEach(reader.changes(range)),
    gaps: (since, until) => read(() => reader.gaps(since, until)),
    close: () => history.close(),
  }
}

class JournalReader {
  readonly #history: HistoryDatabase

  constructor(history: HistoryDatabase) {
    this.#history = history
  }

  newest(): Step | undefined {
    return this.#find(this.#history.stepBefore())
  }

  oldest(): Step | undefined {
    return this.#find(this.#history.stepAfter())
  }

  stepOn(date: string): Step | undefined {
    return this.#find(this.#history.stepBefore(firstKeyOf(nextDate(date))))
  }

  *versions(companyNumber: string, before?: string): Generator<Version, void, void> {
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

  versionAt(companyNumber: string, { key: at }: Step): VersionEntry | undefined {
    const key = companyKey(companyNumber)
    for (const { step, entry } of this.#history.chain(key)) if (step <= at) return decodeVersion(key, entry)
    return undefined
  }

  *changes({ since, until, after }: ChangeRange): Generator<Change, void, void> {
    const oldest = this.#history.stepAfter()
    const second = oldest && this.#history.stepAfter(oldest)
    if (second === undefined) return
    const asked = after ? after.step + companyKey(after.company_number) : firstKeyOf(since)
    const start = asked > second ? asked : second
    let step: Step | undefined
    for (const version of this.#history.versionsFrom({ start, end: firstKeyOf(nextDate(until)) })) {
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

  gaps(since: string, until: string): string[] {
    // Days as numbers: a journal has years of them, and each history lists its gaps.
    const days = new Set<number>()
    for (const key of this.#history.stepKeys({ start: firstKeyOf(since), end: firstKeyOf(nextDate(until)) }))
      days.add(dayOf(key))
    const gaps: string[] = []
    const last = dayOf(firstKeyOf(until))
    for (let day = dayOf(firstKeyOf(since)); day <= last; day += 1) if (!days.has(day)) gaps.push(dateOfDay(day))
    return gaps
  }

  #find(key: string | undefined): Step | undefined {
    return key === undefined ? undefined : this.#step(key)
  }

  #step(key: string | undefined): Step {
    const step = key === undefined ? undefined : this.#history.findStep(key)
    if (!step) throw new StoreError(`${this.#history.folder}: a step is missing`)
    return step
  }
}
