/** Connections to the PostgreSQL primary of the response log. */
import { setTimeout } from 'node:timers/promises'
import pg, { type ClientBase, type Pool, type QueryResult, type QueryResultRow } from 'pg'
import { StoreError } from '../../files/environment.ts'
import { errorCode } from '../../../base/error-code.ts'
import type { Report } from '../../../base/runtime.ts'

/** A sale waits for three statements and their repetitions. With these limits that stays below 30 s. */
const CONNECT_MS_MAX = 2_000
const STATEMENT_MS_MAX = 3_000
/**
 * More than the sales of one process that wait for the database at the same time. PostgreSQL accepts 100 by default.
 */
const CONNECTIONS_MAX = 10
/**
 * Pauses before a statement is repeated. A restart or a failover of the server takes longer; then the buyer retries.
 */
const REPEAT_AFTER_MS = [50, 500] as const

/** Connects lazily. The URL can hold a password, so no error of this module contains it. */
export function openPool(url: string, report: Report = () => undefined): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'irish-company-agent',
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    // Enforced by this program. A limit of the server could end the wait for a synchronous standby as a success.
    query_timeout: STATEMENT_MS_MAX,
    keepAlive: true,
    // Awaited by the pool before the first use of a connection, although its type returns void.
    onConnect: checkServer,
  })
  // Without a listener, the loss of an idle connection would end the process.
  pool.on('error', (cause) => report('database_connection_lost', cause))
  return pool
}

/** The settings with which a commit is on disk, and on that of a synchronous standby, before it is acknowledged. */
const DURABLE_COMMITS: ReadonlySet<string> = new Set(['on', 'remote_apply'])

/**
 * Refuses a standby, whose reads can be old, and a server that acknowledges commits before they are on disk. It sets
 * nothing: a connection pool in transaction mode runs the statements of one session in several, so a setting would not
 * hold for each transaction. CockroachDB has neither setting.
 */
async function checkServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ read_only: string; fsync: string | null; commit: string | null }>(
    `select current_setting('transaction_read_only') as read_only, current_setting('fsync', true) as fsync,
            current_setting('synchronous_commit', true) as commit`,
  )
  const [settings] = rows
  if (settings?.read_only !== 'off') throw unusable('25006', 'is read-only')
  if (settings.fsync === 'off') throw unusable('55000', 'runs with fsync=off')
  if (settings.commit !== null && !DURABLE_COMMITS.has(settings.commit))
    throw unusable('55000', 'acknowledges commits early: run ALTER DATABASE ... SET synchronous_commit = on')
}

const unusable = (code: string, fault: string) =>
  Object.assign(new StoreError(`The database of the response log ${fault}`), { code })

/** The synchronous standbys that the server waits for, as `synchronous_standby_names` has them. Empty for none. */
export async function readSynchronousStandbys(url: string): Promise<string> {
  const statement = `select current_setting('synchronous_standby_names', true) as standbys`
  const { rows } = await withPool(url, (pool) => pool.query<{ standbys: string | null }>(statement))
  return rows[0]?.standbys ?? ''
}

export async function withPool<Result>(url: string, work: (pool: Pool) => Promise<Result>): Promise<Result> {
  const pool = openPool(url)
  return work(pool).finally(() => pool.end())
}

/** Repeats a statement that failed, so it must be one that may run more than once. */
export async function queryRepeatedly<Row extends QueryResultRow>(
  pool: Pool,
  statement: string,
  values: unknown[],
): Promise<QueryResult<Row>> {
  for (let repetitions = 0; ; repetitions += 1) {
    try {
      return await pool.query<Row>(statement, values)
    } catch (failure) {
      const cause = withCode(failure)
      const pauseMs = REPEAT_AFTER_MS[repetitions]
      if (cause instanceof StoreError && pauseMs === undefined) throw cause
      if (pauseMs === undefined)
        throw new StoreError(`The database of the response log cannot be used: ${describeFailure(cause)}`, { cause })
      await setTimeout(pauseMs)
    }
  }
}

/**
 * Why a database cannot be used, as fixed texts: messages of the server and of the driver can contain names and
 * addresses.
 */
const FAULTS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'no server listens at its address'],
  ['ENOTFOUND', 'its host name is unknown'],
  ['ETIMEDOUT', 'it did not answer in time'],
  ['ECONNRESET', 'it closed the connection'],
  ['08P01', 'it, or its pooler, refuses a parameter of the URL'],
  ['28P01', 'it refuses the password'],
  ['28000', 'it refuses the user'],
  ['3D000', 'there is no database of this name'],
  ['42501', 'the user lacks a right'],
  ['53100', 'its disk is full'],
  ['53300', 'it has too many connections'],
  ['55000', 'it accepts no connections to this database'],
  ['57P01', 'it is stopping'],
  ['57P03', 'it is starting or stopping'],
  ['25006', 'it is read-only'],
])

/** Failures for which the driver has no code, by a part of their message. */
const CODES: readonly (readonly [part: RegExp, code: string])[] = [
  [/timeout/i, 'ETIMEDOUT'],
  [/terminated/i, 'ECONNRESET'],
]

function withCode(cause: unknown): unknown {
  if (!(cause instanceof Error) || errorCode(cause) !== undefined) return cause
  const [, code] = CODES.find(([part]) => part.test(cause.message)) ?? []
  return code === undefined ? cause : Object.assign(cause, { code })
}

export function describeFailure(cause: unknown): string {
  const code = errorCode(withCode(cause))
  return code === undefined ? 'the connection failed' : (FAULTS.get(code) ?? `error ${code}`)
}
