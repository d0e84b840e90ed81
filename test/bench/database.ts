/** A PostgreSQL database with the tables of the response log, in a server of its own. */
import { migrateDatabase } from '../../store/log/postgres/schema.ts'
import { startPostgres } from '../support/postgres.ts'

export async function startDatabase(): Promise<{ url: string } & AsyncDisposable> {
  const server = await startPostgres()
  const url = await server.createDatabase()
  await migrateDatabase(url)
  return { url, [Symbol.asyncDispose]: () => server.stop() }
}
