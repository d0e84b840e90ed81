/**
 * The response log in PostgreSQL, for several machines. Each step is one message, so no transaction stays open.
 *
 * Every write sets a new random revision and can be repeated: after the loss of a connection it is not known whether
 * the write was committed, so it is sent again, and if that changes nothing, the stored revision tells whether the row
 * is the result of this write.
 */
import { randomUUID } from 'node:crypto'
import type { Pool, QueryResult, QueryResultRow } from 'pg'
import { undefinedIfCorrupt } from '../../files/checksum.ts'
import { StoreError } from '../../files/environment.ts'
import { refuseOtherReceiver, receiverOf, type LogOwner } from '../log-owner.ts'
import {
  applyChange,
  checkTransition,
  decodeRecord,
  encodeProgress,
  encodeRecord,
  isFinal,
  isIdFree,
  isVersion,
  NEWEST_READ_MAX,
  otherKey,
  UNFINISHED_STATES,
  type Claim,
  type RecordChange,
  type RecordState,
  type ResponseRecord,
  type UnrecordedPayment,
} from '../record.ts'
import type { LogPart, MoveTarget } from '../move.ts'
import { lateAfter, UNRECORDED_MAX, type AnnouncedKey } from '../responses.ts'
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
    where not exists (select 1 from response_log_owner where pay_to <> $7::text)
    on conflict do nothing returning identity)
  insert into records (identity, record) select identity, $5::bytea from claimed`,
  COUNT_UNKNOWN: `select count(*)::int as number from responses
  where final_at is null and state = 'unknown' and starts_with(identity, $1)`,
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
  LIST_UNFINISHED: 'select identity from responses where final_at is null',
  /** Each half uses an index. */
  LIST_DUE: `(select identity, due_at from responses where final_at is null and due_at < $1 order by due_at limit $2)
  union all (select identity, due_at from responses where final_at is null and due_at > $3 order by due_at limit $2)
  order by due_at limit $2`,
  /** Finds the rows with the index `responses_unfinished`. */
  COUNT_UNFINISHED: 'select state, count(*)::int as count from responses where final_at is null group by state',
  PRUNE: `with removed as (delete from responses where identity in
    (select identity from responses where final_at < $1 order by final_at limit $2) returning identity),
  answers as (delete from records where identity in (select identity from removed))
  select count(*)::int as number from removed`,
  NOTE_UNRECORDED: `insert into unrecorded_payments (identity, transaction_hash, found_at)
  select $1, $2, $3 where (select count(*) from unrecorded_payments) < $4 on conflict do nothing`,
  IS_UNRECORDED: 'select 1 from unrecorded_payments where identity = $1',
  LIST_UNRECORDED: `select identity, transaction_hash as transaction, found_at from unrecorded_payments
  order by identity limit $1`,
  OWNER: 'select log_id, network, asset, pay_to, receivers from response_log_owner where id = 1',
  /** Inserts the first owner. Of an owner with log id $6, receiver $7 and receivers $8, it replaces the receivers. */
  SET_OWNER: `insert into response_log_owner as stored (id, log_id, network, asset, pay_to, receivers)
  values (1, $1, $2, $3, $4, $5) on conflict (id) do update set pay_to = excluded.pay_to, receivers = excluded.receivers
  where stored.log_id = $6::uuid and stored.pay_to = $7::text and stored.receivers = $8::text[]`,
  ANNOUNCE_KEY: `insert into public_keys (kid, jwk, announced_at, compromised_at) values ($1, $2, now(), $3)
  on conflict (kid) do update set compromised_at = coalesce(public_keys.compromised_at, excluded.compromised_at)`,
  PUBLIC_KEYS: 'select kid, jwk, announced_at, compromised_at from public_keys order by announced_at, kid',
  NOTES: 'select key, value from notes where starts_with(key, $1)',
  SET_NOTE: `insert into notes (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value`,
  REMOVE_NOTE: 'delete from notes where key = $1',
  /** Each half uses an index. */
  NEWEST_RECORDS: `with newest as ((select * from responses where final_at is null limit $1)
    union all (select * from responses where final_at is not null order by final_at desc limit $1))
  select records.record, progress from newest left join records using (identity)`,
  PRUNE_UNRECORDED: 'delete from unrecorded_payments where found_at < $1',
  IMPORT: `with moved as (select * from jsonb_to_recordset($1::jsonb)
    as (identity text, payment_id text, state text, final_at timestamptz, due_at timestamptz, record text)),
  added as (insert into responses (identity, payment_id, state, final_at, due_at, revision)
    select identity, payment_id, state, final_at, due_at, gen_random_uuid() from moved on conflict (identity) do nothing)
  insert into records (identity, record) select identity, decode(record, 'base64') from moved on conflict do nothing`,
  IMPORT_KEYS: `insert into public_keys (kid, jwk, announced_at, compromised_at)
  select * from jsonb_to_recordset($1::jsonb) as (kid text, jwk jsonb, announced_at timestamptz, compromised_at text)
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

  async claim(record: ResponseRecord): Promise<Claim> {
    const { identity, payment_id, state } = record
    const revision = randomUUID()
    const stored = [encodeRecord(record), dueTime(record), receiverOf(record)]
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
      refuseOtherReceiver(await this.owner(), record)
    }
    throw new StoreError('A payment could not be claimed, because others with its payment id come and go')
  }

  countUnknown(prefix: string): Promise<number> {
    return this.#readNumber(STATEMENTS.COUNT_UNKNOWN, [prefix])
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

  unfinished(): Promise<string[]> {
    return this.#listIdentities(STATEMENTS.LIST_UNFINISHED, [])
  }

  due({ before, max }: { before: Date; max: number }): Promise<string[]> {
    return this.#listIdentities(STATEMENTS.LIST_DUE, [before.toISOString(), max, lateAfter(before).toISOString()])
  }

  async countUnfinished(): Promise<Map<RecordState, number>> {
    const { rows } = await this.#query<{ state: RecordState; count: number }>(STATEMENTS.COUNT_UNFINISHED, [])
    const counts = rows.map(({ state, count }) => [state, count] as const)
    return new Map([...UNFINISHED_STATES.map((state) => [state, 0] as const), ...counts])
  }

  /** After the loss of a connection a payment can be listed without being reported as new. */
  async noteUnrecorded({ identity, transaction, found_at }: UnrecordedPayment): Promise<boolean> {
    const values = [identity, transaction, found_at, UNRECORDED_MAX]
    const { rowCount } = await this.#query(STATEMENTS.NOTE_UNRECORDED, values)
    if (rowCount === 1) return true
    if ((await this.#query(STATEMENTS.IS_UNRECORDED, [identity])).rows.length === 0)
      throw new StoreError('The list of unrecorded payments is full')
    return false
  }

  async unrecorded(): Promise<UnrecordedPayment[]> {
    type Found = Omit<UnrecordedPayment, 'found_at'> & { found_at: Date }
    const { rows } = await this.#query<Found>(STATEMENTS.LIST_UNRECORDED, [UNRECORDED_MAX])
    return rows.map(({ found_at, ...rest }) => Object.assign(rest, { found_at: found_at.toISOString() }))
  }

  async prune({ before, max }: { before: Date; max: number }): Promise<number> {
    await this.#query(STATEMENTS.PRUNE_UNRECORDED, [before.toISOString()])
    return this.#readNumber(STATEMENTS.PRUNE, [before.toISOString(), max])
  }

  async owner(): Promise<LogOwner | undefined> {
    return (await this.#query<LogOwner & QueryResultRow>(STATEMENTS.OWNER, [])).rows[0]
  }

  /** A repetition after the loss of a connection finds the owner that it has stored. */
  async setOwner(next: LogOwner, current: LogOwner | undefined): Promise<LogOwner> {
    const { log_id, network, asset, pay_to, receivers } = next
    const former = [current?.log_id, current?.pay_to, current?.receivers]
    await this.#query(STATEMENTS.SET_OWNER, [log_id, network, asset, pay_to, receivers, ...former])
    const stored = await this.owner()
    if (!stored) throw new StoreError('The owner of the response log was removed while it was written')
    return stored
  }

  async announceKey({ kid, jwk, compromised_at }: Omit<AnnouncedKey, 'announced_at'>): Promise<void> {
    await this.#query(STATEMENTS.ANNOUNCE_KEY, [kid, jwk, compromised_at])
  }

  async publicKeys(): Promise<AnnouncedKey[]> {
    type Announced = Omit<AnnouncedKey, 'announced_at'> & { announced_at: Date }
    const { rows } = await this.#query<Announced>(STATEMENTS.PUBLIC_KEYS, [])
    return rows.map(({ announced_at, ...rest }) => Object.assign(rest, { announced_at: announced_at.toISOString() }))
  }

  async notes(prefix: string): Promise<Map<string, string>> {
    const { rows } = await this.#query<{ key: string; value: string }>(STATEMENTS.NOTES, [prefix])
    return new Map(rows.map(({ key, value }) => [key, value]))
  }

  async setNote(key: string, value?: string): Promise<void> {
    if (value === undefined) await this.#query(STATEMENTS.REMOVE_NOTE, [key])
    else await this.#query(STATEMENTS.SET_NOTE, [key, value])
  }

  async checkWritable(): Promise<void> {
    await this.#query(STATEMENTS.CHECK_WRITABLE, [])
  }

  async newestRecords(): Promise<ResponseRecord[]> {
    type Stored = { record: Buffer; progress: Buffer | null }
    const { rows } = await this.#query<Stored>(STATEMENTS.NEWEST_RECORDS, [NEWEST_READ_MAX])
    return rows.flatMap(({ record, progress }) => undefinedIfCorrupt(() => decodeRecord(record, progress)) ?? [])
  }

  importKeys(keys: readonly AnnouncedKey[]): Promise<void> {
    return this.#insert(STATEMENTS.IMPORT_KEYS, keys)
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

  async #readNumber(statement: string, values: unknown[]): Promise<number> {
    return (await this.#query<{ number: number | null }>(statement, values)).rows[0]?.number ?? 0
  }

  async #listIdentities(statement: string, values: unknown[]): Promise<string[]> {
    return (await this.#query<{ identity: string }>(statement, values)).rows.map(({ identity }) => identity)
  }

  /** All statements of this file may run more than once. */
  #query<Selected extends QueryResultRow>(statement: string, values: unknown[]): Promise<QueryResult<Selected>> {
    return queryRepeatedly<Selected>(this.#pool, statement, values)
  }
}

const dueTime = ({ due_at, prepared_at }: ResponseRecord) => due_at ?? prepared_at
