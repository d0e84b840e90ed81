/**
 * PostgreSQL with pg_trgm, of Debian's package postgresql-contrib: a GIN index, `%` at its default threshold, ordered
 * by similarity.
 */
import pg from 'pg'
import { findPostgres, startPostgres } from '../../support/postgres.ts'
import type { Contender } from './contender.ts'

/** Memory for the whole index and no waiting for the disk: the benchmark measures the search. */
const SETTINGS = {
  shared_buffers: '512MB',
  fsync: 'off',
  full_page_writes: 'off',
  max_parallel_workers_per_gather: '0',
}
const BATCH_ROWS = 10_000

export async function openPostgresPeer(
  companies: { number: string; text: string }[],
  limit: number,
): Promise<Contender | undefined> {
  if (findPostgres() === undefined) return undefined
  const server = await startPostgres(SETTINGS)
  const client = new pg.Client({ connectionString: await server.createDatabase() })
  const close = async () => {
    await client.end()
    await server.stop()
  }
  try {
    await client.connect()
    await client.query('create extension pg_trgm')
    await client.query('create unlogged table company (number text not null, text text not null)')
    for (let from = 0; from < companies.length; from += BATCH_ROWS) {
      const batch = companies.slice(from, from + BATCH_ROWS)
      const values = [batch.map(({ number }) => number), batch.map(({ text }) => text)]
      await client.query('insert into company select * from unnest($1::text[], $2::text[])', values)
    }
    await client.query('create index on company using gin (text gin_trgm_ops)')
    await client.query('vacuum analyze company')
  } catch (cause) {
    await close()
    throw cause
  }
  // A named statement is prepared once.
  const text = 'select number from company where text % $1 order by similarity(text, $1) desc, number limit $2'
  return {
    name: 'PostgreSQL, pg_trgm, GIN',
    async top(name) {
      const { rows } = await client.query<{ number: string }>({ name: 'top', text, values: [name, limit] })
      return rows.map(({ number }) => number)
    },
    [Symbol.asyncDispose]: close,
  }
}
