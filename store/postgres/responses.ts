/**
 * The response log in PostgreSQL, for several machines. Each step is one statement, so no transaction stays open.
 *
 * Every write sets a new random revision and can be repeated: after the loss of a connection it is not known whether the
 * write was committed, so it is sent again, and if that changes nothing, the stored revision tells whether the row is the
 * result of this write.
 */
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { QueryResultRow } from 'pg'
import { CorruptRecordError, undefinedIfCorrupt } from '../checksum.ts'
import { StoreError } from '../environment.ts'
import { NEWEST_READ_MAX, type LogOwner, type OwnedLog } from '../log-owner.ts'
import {
  checkBeginning,
  checkPaid,
  checkTransition,
  checkVoid,
  decodeRecord,
  encodeRecord,
  isFinal,
  isVoid,
  isVersion,
  lacksReceipt,
  newestFirst,
  type ListResult,
  type RecordChange,
  type RecordState,
  type RecordVersion,
  type ResponseRecord,
  type UnrecordedPayment,
} from '../record.ts'
import { UNRECORDED_MAX, type ResponseLog } from '../responses.ts'
import type { Report } from '../runtime.ts'
import { openPool, queryRepeatedly, type Database, type Rows } from './connection.ts'
import { describeFailure } from './failure.ts'
import { checkSchema } from './schema.ts'

/** `unfinished` reads this many keys, then lets other events run. */
const KEYS_PER_READ_MAX = 1_000
/** A conflicting record can be removed between the write and the read; the third attempt is a safety margin. */
const CLAIM_ATTEMPTS_MAX = 3

/**
 * Takes disk space, writes to the log of PostgreSQL and commits. The table disappears with the commit. An update in place
 * would also succeed on a full disk.
 */
const CHECK_WRITABLE = `create temporary table readiness_check on commit drop as select repeat('x', 8000) as filler`
const INSERT = `insert into responses (identity, payer_key, payment_id, state, final_at, revision, record)
  values ($1, $2, $3, $4, null, $5, $6) on conflict do nothing`
const FIND = 'select identity, revision, record from responses where identity = $1'
const FIND_CONFLICT = `select identity, revision, record from responses where identity = $1 or payment_id = $2
  order by case when identity = $1 then 0 else 1 end limit 1`
const REPLACE = `update responses set state = $3, final_at = $4, revision = $5, record = $6,
  payment_id = case when $7 then null else payment_id end where identity = $1 and revision = $2`
/** If another payment takes the payment id meanwhile, the repetition of the statement leaves it there. */
const REOPEN = `update responses set state = $3, final_at = null, revision = $4, record = $5,
  payment_id = case when exists (select 1 from responses where payment_id = $6) then null else $6 end
  where identity = $1 and revision = $2`
const ADD_RECEIPT = 'update responses set revision = $3, record = $4 where identity = $1 and revision = $2'
const HAS_PAID = `select 1 from responses where payer_key = $1 and state in ('settled', 'confirmed') limit 1`
const LIST_UNFINISHED =
  'select identity from responses where final_at is null and identity > $1 order by identity limit $2'
const PRUNE = `delete from responses where identity in
  (select identity from responses where final_at < $1 order by final_at limit $2)`
const NOTE_UNRECORDED = `insert into unrecorded_payments (identity, transaction_hash, found_at)
  select $1, $2, $3 where (select count(*) from unrecorded_payments) < $4 on conflict do nothing`
const IS_UNRECORDED = 'select 1 from unrecorded_payments where identity = $1'
const LIST_UNRECORDED =
  'select identity, transaction_hash, found_at from unrecorded_payments order by identity limit $1'
const OWNER = 'select log_id, network, asset, pay_to from response_log_owner where id = 1'
const INSERT_OWNER = `insert into response_log_owner (id, log_id, network, asset, pay_to)
  values (1, $1, $2, $3, $4) on conflict do nothing`
const REPLACE_OWNER = `update response_log_owner set log_id = $1, network = $2, asset = $3, pay_to = $4
  where id = 1 and log_id = $5 and network = $6 and asset = $7 and pay_to = $8`
/** Each half uses an index. */
const NEWEST_RECORDS = `(select record from responses where final_at is null limit $1)
  union all (select record from responses where final_at is not null order by final_at desc limit $1)`
const ANY_RECORD = 'select 1 from responses limit 1'
const PRUNE_UNRECORDED = 'delete from unrecorded_payments where found_at < $1'

/** For the simulation, which runs them on a model of the table. */
export const STATEMENTS = {
  INSERT,
  FIND,
  FIND_CONFLICT,
  REPLACE,
  REOPEN,
  ADD_RECEIPT,
  HAS_PAID,
  LIST_UNFINISHED,
  PRUNE,
  NOTE_UNRECORDED,
  LIST_UNRECORDED,
  PRUNE_UNRECORDED,
}

interface ResponseRow {
  identity: string
  revision: string
  record: Buffer
}

interface UnrecordedRow {
  identity: string
  transaction_hash: string
  found_at: Date
}

interface PostgresLogOptions {
  url: string
  report: Report
}

/**
 * Connects and checks the schema.
 * @throws StoreError if the database cannot be used; the message is one line without the URL
 */
export async function openPostgresResponseLog({ url, report }: PostgresLogOptions): Promise<ResponseLog & OwnedLog> {
  const pool = openPool({ url, report })
  try {
    await checkSchema(pool)
    return new PostgresResponseLog(pool)
  } catch (cause) {
    await pool.end()
    if (cause instanceof StoreError) throw cause
    throw new StoreError(`RESPONSE_LOG cannot be used: ${describeFailure(cause)}`, { cause })
  }
}

export class PostgresResponseLog implements ResponseLog, OwnedLog {
  readonly #database: Database
  readonly #pause: ((milliseconds: number) => Promise<unknown>) | undefined

  /** `pause` waits before a statement is repeated. */
  constructor(database: Database, pause?: (milliseconds: number) => Promise<unknown>) {
    this.#database = database
    this.#pause = pause
  }

  async read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined> {
    return (await this.#findConflict(identity, paymentId))?.record
  }

  async claim(record: ResponseRecord): Promise<{ claimed: boolean; record: ResponseRecord }> {
    checkBeginning(record)
    const { identity, payment_id, state } = record
    const payerKey = identity.slice(0, Math.max(0, identity.lastIndexOf('/')))
    const revision = randomUUID()
    const values = [identity, payerKey, payment_id ?? null, state, revision, encodeRecord(record)]
    for (let attempt = 0; attempt < CLAIM_ATTEMPTS_MAX; attempt += 1) {
      const { rowCount } = await this.#query(INSERT, values)
      if (rowCount === 1) return { claimed: true, record }
      const existing = await this.#findConflict(identity, payment_id)
      if (existing) return { claimed: existing.revision === revision, record: existing.record }
    }
    throw new StoreError('A payment identity or payment id is taken, but its record does not exist')
  }

  async advance(
    from: RecordVersion,
    change: RecordChange & { state: RecordState },
  ): Promise<ResponseRecord | undefined> {
    checkTransition(from, change.state)
    const current = await this.#find(from.identity)
    if (!current || !isVersion(current.record, from)) return undefined
    const next = { ...current.record, ...change }
    const revision = randomUUID()
    const finalAt = isFinal(next.state) ? next.updated_at : null
    const values = [
      from.identity,
      current.revision,
      next.state,
      finalAt,
      revision,
      encodeRecord(next),
      isVoid(next.state),
    ]
    const { rowCount } = await this.#query(REPLACE, values)
    if (rowCount === 1) return next
    return (await this.#find(from.identity))?.revision === revision ? next : undefined
  }

  async reopen(from: RecordVersion, change: RecordChange & { state: 'settled' }): Promise<ResponseRecord | undefined> {
    checkVoid(from)
    const { identity } = from
    const current = await this.#find(identity)
    if (!current || !isVersion(current.record, from)) return undefined
    const next = { ...current.record, ...change }
    const revision = randomUUID()
    const values = [identity, current.revision, next.state, revision, encodeRecord(next), next.payment_id ?? null]
    const { rowCount } = await this.#query(REOPEN, values)
    if (rowCount === 1) return next
    return (await this.#find(identity))?.revision === revision ? next : undefined
  }

  async addReceipt(from: RecordVersion, receipt: string): Promise<ResponseRecord | undefined> {
    checkPaid(from)
    const current = await this.#find(from.identity)
    if (!current || !lacksReceipt(current.record, from)) return undefined
    const next = { ...current.record, receipt }
    const revision = randomUUID()
    const { rowCount } = await this.#query(ADD_RECEIPT, [from.identity, current.revision, revision, encodeRecord(next)])
    if (rowCount === 1) return next
    return (await this.#find(from.identity))?.revision === revision ? next : undefined
  }

  async hasPaid(payerKey: string): Promise<boolean> {
    return (await this.#query(HAS_PAID, [payerKey])).rows.length > 0
  }

  async unfinished(): Promise<string[]> {
    const identities: string[] = []
    for (;;) {
      const { rows } = await this.#query<{ identity: string }>(LIST_UNFINISHED, [
        identities.at(-1) ?? '',
        KEYS_PER_READ_MAX,
      ])
      identities.push(...rows.map(({ identity }) => identity))
      if (rows.length < KEYS_PER_READ_MAX) return identities
      await setImmediate()
    }
  }

  /** After the loss of a connection a payment can be listed without being reported as new. */
  async noteUnrecorded({ identity, transaction, found_at }: UnrecordedPayment): Promise<ListResult> {
    const { rowCount } = await this.#query(NOTE_UNRECORDED, [identity, transaction, found_at, UNRECORDED_MAX])
    if (rowCount === 1) return 'added'
    return (await this.#query(IS_UNRECORDED, [identity])).rows.length > 0 ? 'listed' : 'full'
  }

  async unrecorded(): Promise<UnrecordedPayment[]> {
    const { rows } = await this.#query<UnrecordedRow>(LIST_UNRECORDED, [UNRECORDED_MAX])
    return rows.map(({ identity, transaction_hash: transaction, found_at }) => {
      return { identity, transaction, found_at: found_at.toISOString() }
    })
  }

  async prune({ before, max }: { before: Date; max: number }): Promise<number> {
    await this.#query(PRUNE_UNRECORDED, [before.toISOString()])
    return (await this.#query(PRUNE, [before.toISOString(), max])).rowCount ?? 0
  }

  async owner(): Promise<LogOwner | undefined> {
    return (await this.#query<LogOwner & QueryResultRow>(OWNER, [])).rows[0]
  }

  /** A repetition after the loss of a connection finds the owner that it has stored. */
  async setOwner(next: LogOwner, current: LogOwner | undefined): Promise<LogOwner> {
    const statement = current ? REPLACE_OWNER : INSERT_OWNER
    await this.#query(statement, [...ownerValues(next), ...(current ? ownerValues(current) : [])])
    const stored = await this.owner()
    if (!stored) throw new StoreError('The owner of the response log was removed while it was written')
    return stored
  }

  async checkWritable(): Promise<void> {
    await this.#query(CHECK_WRITABLE, [])
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#query(ANY_RECORD, [])).rows.length === 0
  }

  async newestRecords(): Promise<ResponseRecord[]> {
    const { rows } = await this.#query<{ record: Buffer }>(NEWEST_RECORDS, [NEWEST_READ_MAX])
    return newestFirst(rows.flatMap(({ record }) => undefinedIfCorrupt(() => decodeRecord(record)) ?? []))
  }

  close(): Promise<void> {
    return this.#database.end()
  }

  async #find(identity: string) {
    const { rows } = await this.#query<ResponseRow>(FIND, [identity])
    return rows[0] && decodeRow(rows[0])
  }

  async #findConflict(identity: string, paymentId: string | undefined) {
    const { rows } = await this.#query<ResponseRow>(FIND_CONFLICT, [identity, paymentId ?? null])
    return rows[0] && decodeRow(rows[0])
  }

  /** All statements of this file may run more than once. */
  #query<Row extends QueryResultRow>(statement: string, values: unknown[]): Promise<Rows<Row>> {
    return queryRepeatedly<Row>(this.#database, statement, values, this.#pause)
  }
}

function ownerValues({ log_id, network, asset, pay_to }: LogOwner): string[] {
  return [log_id, network, asset, pay_to]
}

/** @throws CorruptRecordError */
function decodeRow({ identity, revision, record }: ResponseRow): { revision: string; record: ResponseRecord } {
  const decoded = decodeRecord(record)
  if (decoded.identity !== identity) throw new CorruptRecordError('A stored record has the key of another identity')
  return { revision, record: decoded }
}
