/**
 * The LMDB databases of the journal. The versions of a number are a chain: `latest` names the newest one, and each
 * version names the one before. A version is stored at the step at which the register began to say it.
 */
import type { Transaction } from 'lmdb'
import { sha256Hex } from '../../base/canonical.ts'
import { decodeWithChecksum, encodeWithChecksum, storedChecksum } from '../files/checksum.ts'
import { decodeEntry } from '../dataset/company-entry.ts'
import type { SnapshotEntry } from '../dataset/company.ts'
import { retrievalSchema, type Retrieval } from '../dataset/source.ts'
import { openEnvironment, orStoreError, startAfter, StoreError } from '../files/environment.ts'
import { companyNumberOf, historyFolder } from '../files/layout.ts'
import { dateOf, type Step } from './step.ts'

export type VersionEntry = SnapshotEntry | 'absent' | 'erased'

/** The bytes of a version, as in a snapshot, and the step of the version before. */
export interface StoredVersion {
  step: string
  before: string | undefined
  entry: Buffer
}

/** The last version of a number that had a name, and the last day of a file that said it. */
interface FormerName {
  key: string
  step: string
  until: string
}

const STEP_CHARACTERS = 16
const DIGEST_CHARACTERS = 32
/** Behind all digests. */
const NORMALISER_KEY = 'normaliser'
/** In place of the step of the version before. */
const NONE = '-'.repeat(STEP_CHARACTERS)

export const ABSENT_BYTES = encodeWithChecksum('"absent"')
export const ERASED_BYTES = encodeWithChecksum('"erased"')

export class HistoryDatabase {
  readonly folder: string
  readonly #databases: ReturnType<typeof openDatabases>
  /** The state that is read. By default the state of the current turn of the event loop. */
  readonly #at: { transaction?: Transaction }

  /**
   * Opens the journal of a data directory, or pins the present state of an open one for reading.
   * @throws StoreError if a journal that is opened for reading does not exist
   */
  constructor(source: string | HistoryDatabase, { readOnly }: { readOnly: boolean }) {
    if (typeof source === 'string') {
      this.folder = historyFolder(source)
      this.#databases = openDatabases(this.folder, readOnly)
      this.#at = {}
    } else {
      this.folder = source.folder
      this.#databases = source.#databases
      this.#at = { transaction: source.#databases.environment.useReadTransaction() }
    }
  }

  /** Runs a write as one transaction. A kill leaves all of it or nothing. */
  write<T>(change: () => T): T {
    const write = () => this.#databases.environment.transactionSync(change)
    return orStoreError(`${this.folder}: cannot be written`, write)
  }

  findStep(key: string): Step | undefined {
    const bytes = this.#databases.steps.get(key, this.#at)
    if (bytes === undefined) return undefined
    const { snapshot_id, source } = retrievalSchema.parse(JSON.parse(decodeWithChecksum(bytes)))
    return { key, snapshot_id, date: dateOf(key), source }
  }

  putStep(key: string, facts: Retrieval): void {
    this.#databases.steps.putSync(key, encodeWithChecksum(JSON.stringify(retrievalSchema.parse(facts))))
  }

  /** The keys of the steps from `start` on and before `end`, in order. */
  stepKeys(range: { start?: string; end?: string } = {}): Iterable<string> {
    return this.#databases.steps.getKeys({ ...range, ...this.#at })
  }

  /** The last step before a key, or the last of all. */
  stepBefore(key?: string): string | undefined {
    const [step] = this.#databases.steps.getKeys({ ...startAfter(key), ...this.#at, reverse: true, limit: 1 })
    return step
  }

  stepAfter(key?: string): string | undefined {
    const [step] = this.#databases.steps.getKeys({ ...startAfter(key), ...this.#at, limit: 1 })
    return step
  }

  latestOf(companyKey: string): string | undefined {
    const bytes = this.#databases.latest.get(companyKey, this.#at)
    return bytes && stepIn(bytes)
  }

  /** At most `limit` numbers after `after`, with the newest version of each, in the order of their keys. */
  latestRange(after: string | undefined, limit: number): { key: string; step: string; checksum: Buffer }[] {
    const range = this.#databases.latest.getRange({ ...startAfter(after), ...this.#at, limit })
    return Array.from(range, ({ key, value }) => {
      return { key, step: stepIn(value), checksum: value.subarray(STEP_CHARACTERS) }
    })
  }

  setLatest(companyKey: string, { step, entry }: Pick<StoredVersion, 'step' | 'entry'>): void {
    this.#databases.latest.putSync(companyKey, Buffer.concat([Buffer.from(step, 'latin1'), storedChecksum(entry)]))
  }

  /** @throws StoreError if a step that the chain names has no version */
  findVersion(companyKey: string, step: string): StoredVersion {
    return this.#decode(step, this.#stored(this.#databases.versions.get(step + companyKey, this.#at)))
  }

  /** The version of a number at a step. Undefined before its first one. */
  versionAt(companyKey: string, at: string): StoredVersion | undefined {
    let step = this.latestOf(companyKey)
    while (step !== undefined && step > at) step = this.#stepBeforeVersion(companyKey, step)
    return step === undefined ? undefined : this.findVersion(companyKey, step)
  }

  putVersion(companyKey: string, { step, before = NONE, entry }: StoredVersion): void {
    this.#databases.versions.putSync(step + companyKey, Buffer.concat([Buffer.from(before, 'latin1'), entry]))
  }

  removeVersion(companyKey: string, step: string): void {
    this.#databases.versions.removeSync(step + companyKey)
  }

  clearVersions(): void {
    this.#databases.versions.clearSync()
    this.#databases.latest.clearSync()
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
  *versionsFrom(range: { start: string; end: string }): Generator<StoredVersion & { key: string }, void, void> {
    for (const { key, value } of this.#databases.versions.getRange({ ...range, ...this.#at })) {
      const step = key.slice(0, STEP_CHARACTERS)
      yield { key: key.slice(STEP_CHARACTERS), ...this.#decode(step, value) }
    }
  }

  /** The version of the normaliser that made the former names. */
  normaliser(): string | undefined {
    return this.#databases.formerNames.get(NORMALISER_KEY, this.#at)
  }

  /** At most `limit` numbers whose name was these words, in the order of their keys. */
  formerNames(words: readonly string[], limit: number): FormerName[] {
    const digest = digestOf(words)
    const range = { start: digest, end: `${digest}~`, limit, ...this.#at }
    return Array.from(this.#databases.formerNames.getRange(range), ({ key, value }) => {
      const [step = '', until = ''] = value.split(' ')
      return { key: key.slice(DIGEST_CHARACTERS), step, until }
    })
  }

  putFormerName(words: readonly string[], { key, step, until }: FormerName): void {
    this.#databases.formerNames.putSync(digestOf(words) + key, `${step} ${until}`)
  }

  removeFormerName(words: readonly string[], companyKey: string): void {
    this.#databases.formerNames.removeSync(digestOf(words) + companyKey)
  }

  clearFormerNames(normaliser: string): void {
    this.#databases.formerNames.clearSync()
    this.#databases.formerNames.putSync(NORMALISER_KEY, normaliser)
  }

  isErased(companyKey: string): boolean {
    return this.#databases.erased.doesExist(companyKey)
  }

  putErasure(companyKey: string, time: string): void {
    this.#databases.erased.putSync(companyKey, time)
  }

  async close(): Promise<void> {
    const { transaction } = this.#at
    if (transaction) transaction.done()
    else await this.#databases.environment.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #stored(bytes: Buffer | undefined): Buffer {
    if (bytes === undefined) throw new StoreError(`${this.folder}: a version is missing`)
    return bytes
  }

  /** Does not copy the entry: a thousand copies hold the event loop for too long (`bench perf`, "past records"). */
  #stepBeforeVersion(companyKey: string, step: string): string | undefined {
    const versions: FastReader = this.#databases.versions
    return beforeIn(this.#stored(versions.getBinaryFast(step + companyKey, this.#at)))
  }

  #decode(step: string, bytes: Buffer): StoredVersion {
    return { step, before: beforeIn(bytes), entry: bytes.subarray(STEP_CHARACTERS) }
  }
}

/** The types of lmdb leave the options out. The bytes change with the next read. */
interface FastReader {
  getBinaryFast(key: string, options?: { transaction?: Transaction }): Buffer | undefined
}

function openDatabases(folder: string, readOnly: boolean) {
  const environment = openEnvironment({ folder, kind: 'history', readOnly })
  const open = (name: string) => environment.openDB<Buffer, string>({ name, encoding: 'binary' })
  return {
    environment,
    steps: open('steps'),
    versions: open('versions'),
    latest: open('latest'),
    erased: environment.openDB<string, string>({ name: 'erased', encoding: 'json' }),
    formerNames: environment.openDB<string, string>({ name: 'former-names', encoding: 'json' }),
  }
}

/** A key of one length, whatever the name. */
const digestOf = (words: readonly string[]) => sha256Hex(words.join(' ')).slice(0, DIGEST_CHARACTERS)

const stepIn = (bytes: Buffer) => bytes.toString('latin1', 0, STEP_CHARACTERS)

function beforeIn(bytes: Buffer): string | undefined {
  const before = stepIn(bytes)
  return before === NONE ? undefined : before
}

/** @throws CorruptRecordError or a schema error if the bytes are damaged */
export function decodeVersion(companyKey: string, bytes: Buffer): VersionEntry {
  if (bytes.equals(ABSENT_BYTES)) return 'absent'
  if (bytes.equals(ERASED_BYTES)) return 'erased'
  return decodeEntry(companyNumberOf(companyKey), bytes)
}
