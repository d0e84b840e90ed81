/** A response log in memory, for tests and the simulation. It passes the tests of every log. */
import type { StoredDocument } from '../../store/log/documents.ts'
import {
  applyChange,
  checkTransition,
  isVersion,
  type Claim,
  type RecordChange,
  type ResponseRecord,
} from '../../store/log/record.ts'
import { isFinal, isIdFree, OPEN_STATES, type RecordState } from '../../store/log/states.ts'
import type { CountQuery, DocumentVersion, LogPage, LogQuery, ResponseLog } from '../../store/log/responses.ts'

/** The content of a log, which several logs can share. Each call takes effect at once. */
export class MemoryStore {
  readonly records = new Map<string, ResponseRecord>()
  /** Called after every write of a record. */
  onWrite: (record: ResponseRecord, before: ResponseRecord | undefined) => void = () => undefined
  readonly #now: () => Date
  readonly #open = new Set<string>()
  /** The identity of the record that has a payment id. */
  readonly #holders = new Map<string, string>()
  #revisions = 0
  readonly #documents = new Map<string, StoredDocument<unknown>>()

  constructor(now: () => Date = () => new Date()) {
    this.#now = now
  }

  read(identity: string, paymentId?: string): ResponseRecord | undefined {
    return this.records.get(identity) ?? this.records.get(this.#holders.get(paymentId ?? '') ?? '')
  }

  claim(record: ResponseRecord, unchanged?: DocumentVersion): Claim {
    if (unchanged && this.readDocument(unchanged.document)?.revision !== unchanged.revision) return { kind: 'outdated' }
    const existing = this.read(record.identity, record.payment_id)
    return existing ? { kind: 'taken', record: existing } : { kind: 'claimed', record: this.#put(record) }
  }

  advance(from: ResponseRecord, change: RecordChange): ResponseRecord | undefined {
    checkTransition(from, change)
    const stored = this.records.get(from.identity)
    return stored && isVersion(stored, from) ? this.#put(applyChange(stored, change)) : undefined
  }

  list(query: LogQuery): LogPage {
    if (query.kind === 'final') {
      const final = [...this.records.values()].filter(({ state }) => isFinal(state))
      const newest = final.toSorted((one, other) => compare(other.updated_at, one.updated_at)).slice(0, query.max)
      return { identities: newest.map(({ identity }) => identity), next: undefined }
    }
    const { dueBefore, dueAfter, max } = query
    const after = query.after ?? dueAfter?.toISOString() ?? ''
    const before = dueBefore?.toISOString()
    const positions = Array.from(this.#open, (identity) => positionOf(this.records.get(identity)!))
    const page = positions
      .filter((position) => position > after && (before === undefined || position < before))
      .toSorted(compare)
      .slice(0, max)
    const identities = page.map((position) => position.slice(position.indexOf(' ') + 1))
    return { identities, next: page.length < max ? undefined : page.at(-1) }
  }

  count({ states = OPEN_STATES, prefix = '' }: CountQuery = {}): Map<RecordState, number> {
    const counts = new Map(states.map((state) => [state, 0]))
    for (const identity of this.#open) {
      const { state } = this.records.get(identity)!
      const count = counts.get(state)
      if (count !== undefined && identity.startsWith(prefix)) counts.set(state, count + 1)
    }
    return counts
  }

  prune({ before, max }: { before: Date; max: number }): number {
    const time = before.toISOString()
    const old = [...this.records.values()].filter(({ state, updated_at }) => isFinal(state) && updated_at < time)
    const removed = old.toSorted((one, other) => compare(one.updated_at, other.updated_at)).slice(0, max)
    for (const { identity, payment_id = '' } of removed) {
      this.records.delete(identity)
      if (this.#holders.get(payment_id) === identity) this.#holders.delete(payment_id)
    }
    return removed.length
  }

  readDocument(key: string): StoredDocument<unknown> | undefined {
    return this.#documents.get(key)
  }

  writeDocument(key: string, value: unknown, revision: string | undefined): StoredDocument<unknown> | undefined {
    if (this.#documents.get(key)?.revision !== revision) return undefined
    const stored = { value, revision: String((this.#revisions += 1)), written_at: this.#now().toISOString() }
    this.#documents.set(key, stored)
    return stored
  }

  #put(record: ResponseRecord): ResponseRecord {
    const { identity, payment_id, state } = record
    const before = this.records.get(identity)
    // As JSON keeps it.
    const next = Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
    this.records.set(identity, next as unknown as ResponseRecord)
    if (isFinal(state)) this.#open.delete(identity)
    else this.#open.add(identity)
    if (payment_id !== undefined) this.#writeHolder(payment_id, record)
    this.onWrite(record, before)
    return record
  }

  #writeHolder(paymentId: string, { identity, state }: ResponseRecord): void {
    const holder = this.#holders.get(paymentId)
    if (isIdFree(state) && holder === identity) this.#holders.delete(paymentId)
    if (!isIdFree(state) && holder === undefined) this.#holders.set(paymentId, identity)
  }
}

const compare = (one: string, other: string) => (one < other ? -1 : 1)
const positionOf = ({ due_at, prepared_at, identity }: ResponseRecord) => `${due_at ?? prepared_at} ${identity}`

/** The log of one process. `run` runs each call, by default at once. */
export function openMemoryLog(
  store: MemoryStore,
  run: <Result>(kind: 'read' | 'write', call: () => Result) => Promise<Result> = async (_, call) => call(),
): ResponseLog {
  return {
    read: (...key) => run('read', () => store.read(...key)),
    claim: (...claim) => run('write', () => store.claim(...claim)),
    advance: (...change) => run('write', () => store.advance(...change)),
    list: (query) => run('read', () => store.list(query)),
    count: (query) => run('read', () => store.count(query)),
    prune: (request) => run('write', () => store.prune(request)),
    document: <Value>(key: string) => ({
      read: () => run('read', () => store.readDocument(key) as StoredDocument<Value> | undefined),
      compareAndSet: (value: Value, revision: string | undefined) =>
        run('write', () => store.writeDocument(key, value, revision) as StoredDocument<Value> | undefined),
    }),
    checkWritable: () => run('write', () => undefined),
    close: async () => undefined,
  }
}
