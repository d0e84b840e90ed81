/**
 * The LMDB databases of the journal. The versions of a number are a chain: `latest` names the newest one, and each
 * version names the one before. A version is stored at the step at which the register began to say it.
 */
import type { Database, RootDatabase } from 'lmdb'
import { decodeWithChecksum, encodeWithChecksum } from '../files/checksum.ts'
import { decodeEntry } from '../dataset/company-entry.ts'
import type { SnapshotEntry } from '../dataset/company.ts'
import { openEnvironment, startAfter, StoreError } from '../files/environment.ts'
import { companyNumberOf, historyFolder } from '../files/layout.ts'
import { dateOf, stepFactsSchema, type Step, type StepFacts } from './step.ts'

/** What the register said about a number. */
export type VersionEntry = SnapshotEntry | 'absent' | 'erased'

/** The bytes of a version, as in a snapshot, and the step of the version before. */
export interface StoredVersion {
  step: string
  before: string | undefined
  entry: Buffer
}

const STEP_CHARACTERS = 16
/** In place of the step of the version before. */
const NONE = '-'.repeat(STEP_CHARACTERS)
/** A value in `latest` has the beginning of the entry, which is its checksum. */
const CHECKSUM_BYTES = 16

export const ABSENT_BYTES = encodeWithChecksum('"absent"')
export const ERASED_BYTES = encodeWithChecksum('"erased"')

export class HistoryDatabase {
  readonly folder: string
  readonly #environment: RootDatabase<unknown, string>
  readonly #steps: Database<Buffer, string>
  readonly #versions: Database<Buffer, string>
  readonly #latest: Database<Buffer, string>
  readonly #erased: Database<string, string>

  /** @throws StoreError if a journal that is opened for reading does not exist */
  constructor(dataDirectory: string, { readOnly }: { readOnly: boolean }) {
    this.folder = historyFolder(dataDirectory)
    this.#environment = openEnvironment({ folder: this.folder, kind: 'history', readOnly })
    const open = (name: string) => this.#environment.openDB<Buffer, string>({ name, encoding: 'binary' })
    this.#steps = open('steps')
    this.#versions = open('versions')
    this.#latest = open('latest')
    this.#erased = this.#environment.openDB({ name: 'erased', encoding: 'json' })
  }

  /** Runs a write as one transaction. A kill leaves all of it or nothing. */
  write<T>(change: () => T): T {
    try {
      return this.#environment.transactionSync(change)
    } catch (cause) {
      throw cause instanceof StoreError ? cause : new StoreError(`${this.folder}: cannot be written`, { cause })
    }
  }

  findStep(key: string): Step | undefined {
    const bytes = this.#steps.getBinary(key)
    if (bytes === undefined) return undefined
    const { snapshot_id, source } = stepFactsSchema.parse(JSON.parse(decodeWithChecksum(bytes)))
    return { key, snapshot_id, date: dateOf(key), source }
  }

  putStep(key: string, facts: StepFacts): void {
    this.#steps.putSync(key, encodeWithChecksum(JSON.stringify(stepFactsSchema.parse(facts))))
  }

  /** The keys of the steps from `start` on and before `end`, in order. */
  stepKeys(range: { start?: string; end?: string } = {}): Iterable<string> {
    return this.#steps.getKeys(range)
  }

  /** The last step before a key, or the last of all. */
  stepBefore(key?: string): string | undefined {
    const [step] = this.#steps.getKeys({ ...startAfter(key), reverse: true, limit: 1 })
    return step
  }

  stepAfter(key?: string): string | undefined {
    const [step] = this.#steps.getKeys({ ...startAfter(key), limit: 1 })
    return step
  }

  /** The step of the newest version of a number. */
  latestOf(companyKey: string): string | undefined {
    return this.#latest.getBinary(companyKey)?.toString('latin1', 0, STEP_CHARACTERS)
  }

  /** At most `limit` numbers after `after`, with the newest version of each, in the order of their keys. */
  latestRange(after: string | undefined, limit: number): { key: string; step: string; checksum: Buffer }[] {
    return [...this.#latest.getRange({ ...startAfter(after), limit })].map(({ key, value }) => ({
      key,
      step: value.toString('latin1', 0, STEP_CHARACTERS),
      checksum: value.subarray(STEP_CHARACTERS),
    }))
  }

  setLatest(companyKey: string, { step, entry }: Pick<StoredVersion, 'step' | 'entry'>): void {
    this.#latest.putSync(companyKey, Buffer.concat([Buffer.from(step, 'latin1'), checksumOf(entry)]))
  }

  /** @throws StoreError if a step that the chain names has no version */
  findVersion(companyKey: string, step: string): StoredVersion {
    const bytes = this.#versions.getBinary(step + companyKey)
    if (bytes === undefined) throw new StoreError(`${this.folder}: a version is missing`)
    return this.#decode(step, bytes)
  }

  putVersion(companyKey: string, { step, before = NONE, entry }: StoredVersion): void {
    this.#versions.putSync(step + companyKey, Buffer.concat([Buffer.from(before, 'latin1'), entry]))
  }

  removeVersion(companyKey: string, step: string): void {
    this.#versions.removeSync(step + companyKey)
  }

  /** Keeps the erased numbers. */
  clearVersions(): void {
    this.#versions.clearSync()
    this.#latest.clearSync()
  }

  /** The versions of a number, newest first. */
  *chain(companyKey: string): Generator<StoredVersion, void, void> {
    for (let step = this.latestOf(companyKey); step !== undefined;) {
      const version = this.findVersion(companyKey, step)
      yield version
      step = version.before
    }
  }

  /** The versions that begin at steps from `start` on and before `end`, in the order of step and number. */
  *versionsFrom({
    start,
    end,
  }: {
    start: string
    end: string
  }): Generator<StoredVersion & { key: string }, void, void> {
    for (const { key, value } of this.#versions.getRange({ start, end })) {
      const step = key.slice(0, STEP_CHARACTERS)
      yield { key: key.slice(STEP_CHARACTERS), ...this.#decode(step, value) }
    }
  }

  isErased(companyKey: string): boolean {
    return this.#erased.doesExist(companyKey)
  }

  erasures(): { number: string; time: string }[] {
    return [...this.#erased.getRange()].map(({ key, value }) => ({ number: companyNumberOf(key), time: value }))
  }

  putErasure(companyKey: string, time: string): void {
    this.#erased.putSync(companyKey, time)
  }

  close(): Promise<void> {
    return this.#environment.close()
  }

  #decode(step: string, bytes: Buffer): StoredVersion {
    const before = bytes.toString('latin1', 0, STEP_CHARACTERS)
    return { step, before: before === NONE ? undefined : before, entry: bytes.subarray(STEP_CHARACTERS) }
  }
}

/** The beginning of an encoded entry. Two entries with equal checksums are equal. */
export const checksumOf = (entry: Buffer) => entry.subarray(0, CHECKSUM_BYTES)

/** @throws CorruptRecordError or a schema error if the bytes are damaged */
export function decodeVersion(companyKey: string, bytes: Buffer): VersionEntry {
  if (bytes.equals(ABSENT_BYTES)) return 'absent'
  if (bytes.equals(ERASED_BYTES)) return 'erased'
  return decodeEntry(companyNumberOf(companyKey), bytes)
}
