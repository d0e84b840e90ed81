/** The kinds of response log, and a PostgreSQL database with its tables. */
import { migrateDatabase } from '../../store/log/postgres/schema.ts'
import { startPostgres, type PostgresServer } from '../support/postgres.ts'

const LOG_KINDS = ['lmdb', 'postgres'] as const

export type LogKind = (typeof LOG_KINDS)[number]

export const isLogKind = (name: string): name is LogKind => (LOG_KINDS as readonly string[]).includes(name)

/** The options of a program, by name. */
export type Options = Record<string, string> & { log?: LogKind }

/** A server of its own with one database. */
export async function startDatabase(): Promise<{ server: PostgresServer; url: string } & AsyncDisposable> {
  const server = await startPostgres()
  const url = await server.createDatabase()
  await migrateDatabase(url)
  return { server, url, [Symbol.asyncDispose]: () => server.stop() }
}
