/**
 * The response log in PostgreSQL, for several machines. Each step is one message, so no transaction stays open.
 *
 * Every write sets a new random revision and can be repeated: after the loss of a connection it is not known whether
 * the write was committed, so it is sent again, and if that changes nothing, the stored revision tells whether the row
 * is the result of this write.
 */
import { randomUUID } from 'node:crypto'
import type { Pool, QueryResult, QueryResultRow } from 'pg'
import { StoreError } from '../../files/environment.ts'
import type { LogDocument, StoredDocument } from '../documents.ts'
import {
  applyChange,
  checkTransition,
  decodeRecord,
  encodeProgress,
  encodeRecord,
  isVersion,
  otherKey,
  type Claim,
  type RecordChange,
  type ResponseRecord,
} from '../record.ts'
import { isFinal, isIdFree, OPEN_STATES, type RecordState } from '../states.ts'
import type { LogPart, MoveTarget } from '../move.ts'
import type { CountQuery, DocumentVersion, LogPage, LogQuery } from '../responses.ts'
import type { Report } from '../../../base/runtime.ts'
import { describeFailure, openPool, queryRepeatedly } from './connection.ts'
import { checkSchema } from './schema.ts'

/** A conflicting record can be removed after the write; the third attempt is a safety margin. */
const CLAIM_ATTEMPTS_MAX = 3

const STATEMENTS = {
  /**
   * Inserts a sale that is rolled back, and commits a table that disappears with the commit. So it needs the lock of a
   * sale, disk space, and the standby that a commit waits for. An update in place would also succeed on a full disk.
   * One message, because a pooler can run each one in another session.
   */
  CHECK_WRITABLE: `begin; set local lock_timeout = '1s'; savepoint sale;
  with sale as (insert into responses (identity, state, final_at, due_at, revision)
    values (gen_random_uuid()::text, 'expired', now(), now(), gen_random_uuid()) returning identity)
  insert into records (identity, record) select identity, '' from sale;
  rollback to savepoint sale;
  create temporary table readiness_check on commit drop as select repeat('x', 8000) as filler; commit`,
  INSERT: `with claimed as (insert into responses (identity, payment_id, state, final_at, due_at, revision)
    select $1, $2, $3, null, $6::timestamptz, $4::uuid
    where $7::text is null
      or coalesce((select documents.revision::text from documents where documents.key = $7), '') = $8::text
    on conflict do nothing returning identity)
  insert into records (identity, record) select identity, $5::bytea from claimed`,
  FIND: `select identity, revision, records.record, progress
  from responses left join records using (identity) where identity = $1 or payment_id = $2
  order by case when identity = $1 then 0 else 1 end limit 1`,
  /**
   * A refused or void record releases its payment id. A record that is neither any more takes it back ($8); if another
   * payment takes it meanwhile, the repetition of the statement leaves it there.
   */
  REPLACE: `update responses set state = $3, final_at = $4, revision = $5, progress = $6, due_at = $9, payment_id = case
    when $7 then null
    when $8::text is null then payment_id
    when exists (select 1 from responses where payment_id = $8) then null
    else $8 end
  where identity = $1 and revision = $2`,
  /** Both use the index of their column. */
  LIST_OPEN: `select identity, due_at from responses where final_at is null and ($1::timestamptz is null or due_at < $1)
    and (due_at, identity) > ($2::timestamptz, $3) order by due_at, identity limit $4`,
  LIST_FINAL: 'select identity from responses where final_at is not null order by final_at desc limit $1',
  COUNT: `select state, count(*)::int as count from responses
  where final_at is null and state = any($1) and starts_with(identity, $2) group by state`,
  PRUNE: `with removed as (delete from responses where identity in
    (select identity from responses where final_at < $1 order by final_at limit $2) returning identity),
  answers as (delete from records where identity in (select identity from removed))
  select count(*)::int as number from removed`,
  READ_DOCUMENT: 'select value, revision, written_at from documents where key = $1',
  CREATE_DOCUMENT: `insert into documents (key, value, revision, written_at) values ($1, $2, $3, now())
  on conflict do nothing returning written_at`,
  REPLACE_DOCUMENT: `update documents set value = $2, revision = $3, written_at = now()
  where key = $1 and revision::text = $4 returning written_at`,
  IMPORT: `with moved as (select * from jsonb_to_recordset($1::jsonb)
    as (identity text, payment_id text, state text, final_at timestamptz, due_at timestamptz, record text)),
  added as (insert into responses (identity, payment_id, state, final_at, due_at, revision)
    select identity, payment_id, state, final_at, due_at, gen_random_uuid() from moved on conflict (identity) do nothing)
  insert into records (identity, record) select identity, decode(record, 'base64') from moved on conflict do nothing`,
  IMPORT_DOCUMENTS: `insert into documents (key, value, revision, written_at)
  select * from jsonb_to_recordset($1::jsonb) as (key text, value text, revision uuid, written_at timestamptz)
  on conflict do nothing`,
}

interface PostgresLogOptions {
  url: string
  report: Report
}

/**
 * Connects, and checks the schema.
 * @throws StoreError if the database cannot be used; the message is one line without the URL
 */
export async function openPostgresResponseLog({ url, report }: PostgresLogOptions): Promise<MoveTarget> {
  const pool = openPool(url, report)
  try {
    await checkSchema(pool)
    return new PostgresResponseLog(pool)
  } catch (cause) {
    await pool.end()
    if (cause instanceof StoreError) throw cause
    throw new StoreError(`RESPONSE_LOG cannot be used: ${describeFailure(cause)}`, { cause })
  }
}

class PostgresResponseLog implements MoveTarget {
  readonly #pool: Pool
  /** The revision of each record when it was read or written, which saves a read before a change. It may be old. */
  readonly #revisions = new WeakMap<ResponseRecord, string>()

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** @throws CorruptRecordError */
  async read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined> {
    type Stored = { identity: string; revision: string; record: Buffer; progress: Buffer | null }
    const { rows } = await this.#query<Stored>(STATEMENTS.FIND, [identity, paymentId ?? null])
    const [row] = rows
    if (!row) return undefined
    const record = decodeRecord(row.record, row.progress)
    if (record.identity !== row.identity) throw otherKey()
    this.#revisions.set(record, row.revision)
    return record
  }

  async claim(record: ResponseRecord, unchanged?: DocumentVersion): Promise<Claim> {
    const { identity, payment_id, state } = record
    const revision = randomUUID()
    const { document, revision: documentRevision } = unchanged ?? {}
    const stored = [encodeRecord(record), dueTime(record), document ?? null, documentRevision ?? '']
    const values = [identity, payment_id ?? null, state, revision, ...stored]
    for (let attempt = 0; attempt < CLAIM_ATTEMPTS_MAX; attempt += 1) {
      const { rowCount } = await this.#query(STATEMENTS.INSERT, values)
      if (rowCount === 1) {
        this.#revisions.set(record, revision)
        return { kind: 'claimed', record }
      }
      const existing = await this.read(identity, payment_id)
      if (existing && this.#revisions.get(existing) === revision) return { kind: 'claimed', record: existing }
      if (existing) return { kind: 'taken', record: existing }
      if (unchanged && (await this.document(unchanged.document).read())?.revision !== unchanged.revision)
        return { kind: 'outdated' }
    }
    throw new StoreError('A payment could not be claimed, because others with its payment id come and go')
  }

  /** A write that another one has overtaken is repeated while the record still has the version. */
  async advance(from: ResponseRecord, change: RecordChange): Promise<ResponseRecord | undefined> {
    checkTransition(from, change)
    let current = this.#revisions.has(from) ? from : await this.read(from.identity)
    while (current && isVersion(current, from)) {
      const next = await this.#replace(current, applyChange(current, change))
      if (next) return next
      current = await this.read(from.identity)
    }
    return undefined
  }

  /** Undefined if the stored record has another revision. */
  async #replace(record: ResponseRecord, next: ResponseRecord): Promise<ResponseRecord | undefined> {
    const { identity, state, updated_at } = next
    const revision = randomUUID()
    const values = [
      identity,
      this.#revisions.get(record),
      state,
      isFinal(state) ? updated_at : null,
      revision,
      encodeProgress(next),
      isIdFree(state),
      isIdFree(record.state) ? (next.payment_id ?? null) : null,
      dueTime(next),
    ]
    const { rowCount } = await this.#query(STATEMENTS.REPLACE, values)
    if (rowCount === 1) {
      this.#revisions.set(next, revision)
      return next
    }
    const stored = await this.read(identity)
    return stored && this.#revisions.get(stored) === revision ? stored : undefined
  }

  async list(query: LogQuery): Promise<LogPage> {
    const { max } = query
    type Listed = { identity: string; due_at: Date }
    if (query.kind === 'final') {
      const { rows } = await this.#query<Listed>(STATEMENTS.LIST_FINAL, [max])
      return { identities: rows.map(({ identity }) => identity), next: undefined }
    }
    const { after, dueBefore, dueAfter } = query
    const [, time = dueAfter?.toISOString() ?? '-infinity', identity = ''] = /^(\S+) (.*)$/s.exec(after ?? '') ?? []
    const values = [dueBefore?.toISOString() ?? null, time, identity, max]
    const { rows } = await this.#query<Listed>(STATEMENTS.LIST_OPEN, values)
    const last = rows.length < max ? undefined : rows.at(-1)
    const next = last && `${last.due_at.toISOString()} ${last.identity}`
    return { identities: rows.map((row) => row.identity), next }
  }

  async count({ states = OPEN_STATES, prefix = '' }: CountQuery = {}): Promise<Map<RecordState, number>> {
    type Counted = { state: RecordState; count: number }
    const { rows } = await this.#query<Counted>(STATEMENTS.COUNT, [states, prefix])
    const counts = rows.map(({ state, count }) => [state, count] as const)
    return new Map([...states.map((state) => [state, 0] as const), ...counts])
  }

  async prune({ before, max }: { before: Date; max: number }): Promise<number> {
    const { rows } = await this.#query<{ number: number }>(STATEMENTS.PRUNE, [before.toISOString(), max])
    return rows[0]?.number ?? 0
  }

  document<Value>(key: string): LogDocument<Value> {
    return { read: () => this.#readDocument(key), compareAndSet: (...write) => this.#writeDocument(key, ...write) }
  }

  async #readDocument<Value>(key: string): Promise<StoredDocument<Value> | undefined> {
    type Stored = { value: string; revision: string; written_at: Date }
    const [row] = (await this.#query<Stored>(STATEMENTS.READ_DOCUMENT, [key])).rows
    if (!row) return undefined
    const { value, revision, written_at } = row
    return { value: JSON.parse(value) as Value, revision, written_at: written_at.toISOString() }
  }

  async #writeDocument<Value>(
    key: string,
    value: Value,
    revision: string | undefined,
  ): Promise<StoredDocument<Value> | undefined> {
    const next = randomUUID()
    const values = [key, JSON.stringify(value), next]
    const { rows } = await (revision === undefined
      ? this.#query<{ written_at: Date }>(STATEMENTS.CREATE_DOCUMENT, values)
      : this.#query<{ written_at: Date }>(STATEMENTS.REPLACE_DOCUMENT, [...values, revision]))
    if (rows[0]) return { value, revision: next, written_at: rows[0].written_at.toISOString() }
    const stored = await this.#readDocument<Value>(key)
    return stored?.revision === next ? stored : undefined
  }

  async checkWritable(): Promise<void> {
    await this.#query(STATEMENTS.CHECK_WRITABLE, [])
  }

  importDocuments(documents: ReadonlyMap<string, StoredDocument<unknown>>): Promise<void> {
    const rows = Array.from(documents, ([key, { value, ...rest }]) => ({ key, value: JSON.stringify(value), ...rest }))
    return this.#insert(STATEMENTS.IMPORT_DOCUMENTS, rows)
  }

  importRecords(part: LogPart): Promise<void> {
    const rows = part.records.map(({ record, holdsPaymentId }) => ({
      identity: record.identity,
      state: record.state,
      due_at: dueTime(record),
      payment_id: holdsPaymentId ? record.payment_id : null,
      final_at: isFinal(record.state) ? record.updated_at : null,
      record: encodeRecord(record).toString('base64'),
    }))
    return this.#insert(STATEMENTS.IMPORT, rows)
  }

  close(): Promise<void> {
    return this.#pool.end()
  }

  async #insert(statement: string, rows: readonly object[]): Promise<void> {
    await this.#query(statement, [JSON.stringify(rows)])
  }

  /** All statements of this file may run more than once. */
  #query<Selected extends QueryResultRow>(statement: string, values: unknown[]): Promise<QueryResult<Selected>> {
    return queryRepeatedly<Selected>(this.#pool, statement, values)
  }
}

const dueTime = ({ due_at, prepared_at }: ResponseRecord) => due_at ?? prepared_at
