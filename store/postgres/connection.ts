/** Connections to the PostgreSQL primary of the response log. */
import { setTimeout } from 'node:timers/promises'
import pg, { type ClientBase, type Pool, type QueryResult, type QueryResultRow } from 'pg'
import { StoreError } from '../environment.ts'
import type { Report } from '../runtime.ts'

/** A sale waits for three statements and their repetitions. With these limits that stays below 30 s. */
const CONNECT_MS_MAX = 2_000
const STATEMENT_MS_MAX = 3_000
/** More than the sales of one process that wait for the database at the same time. PostgreSQL accepts 100 by default. */
const CONNECTIONS_MAX = 10
/** Pauses before a statement is repeated. A restart or a failover of the server takes longer; then the buyer retries. */
const REPEAT_AFTER_MS = [50, 500] as const

interface PoolOptions {
  url: string
  report: Report
  connections?: number
}

/** Connects lazily. The URL can hold a password, so no error of this module contains it. */
export function openPool({ url, report, connections = CONNECTIONS_MAX }: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'irish-company-agent',
    max: connections,
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

/**
 * Refuses a standby, whose reads can be old, and a server that does not write commits to disk. Sets `synchronous_commit` for
 * this session, because the database may have another default; `remote_apply` is stronger and stays. CockroachDB has no
 * `fsync` setting.
 */
async function checkServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ read_only: string; fsync: string | null; commit: string | null }>(
    `select current_setting('transaction_read_only') as read_only, current_setting('fsync', true) as fsync,
            current_setting('synchronous_commit', true) as commit`,
  )
  const [settings] = rows
  if (settings?.read_only !== 'off') throw new StoreError('The database of the response log is read-only')
  if (settings.fsync === 'off') throw new StoreError('The database of the response log runs with fsync=off')
  if (settings.commit !== null && settings.commit !== 'remote_apply') await client.query('set synchronous_commit = on')
}

/** The result of a statement. */
export type Rows<Row> = Pick<QueryResult<Row & QueryResultRow>, 'rows' | 'rowCount'>

/** What runs statements: a pool, or the simulation. */
export interface Database {
  query<Row extends QueryResultRow>(statement: string, values: unknown[]): Promise<Rows<Row>>
  end(): Promise<void>
}

/** Repeats a statement that failed, so it must be one that may run more than once. */
export async function queryRepeatedly<Row extends QueryResultRow>(
  database: Database,
  statement: string,
  values: unknown[],
  pause: (milliseconds: number) => Promise<unknown> = setTimeout,
): Promise<Rows<Row>> {
  for (let repetitions = 0; ; repetitions += 1) {
    try {
      return await database.query<Row>(statement, values)
    } catch (cause) {
      const pauseMs = REPEAT_AFTER_MS[repetitions]
      if (pauseMs === undefined) throw new StoreError('The response log does not answer', { cause })
      await pause(pauseMs)
    }
  }
}
