/**
 * The schema of the response log in PostgreSQL, as numbered migrations. Uses only statements that CockroachDB and
 * YugabyteDB also accept. Never change a migration after a release: append one.
 */
import type { Pool } from 'pg'
import { StoreError } from '../../files/environment.ts'
import { errorCode } from '../../../base/error-code.ts'
import { withPool } from './connection.ts'

/** By version. */
const MIGRATIONS: ReadonlyMap<number, readonly string[]> = new Map([
  [
    1,
    [
      `create table responses (
       identity text primary key,
       payment_id text unique,
       state text not null,
       final_at timestamptz,
       due_at timestamptz not null,
       revision uuid not null,
       progress bytea
     )`,
      // What never changes, so that a change of a payment does not write the answer again.
      'create table records (identity text primary key, record bytea not null)',
      'create index responses_due on responses (due_at, identity) where final_at is null',
      'create index responses_final on responses (final_at) where final_at is not null',
      // Small values that all processes share.
      `create table documents (
       key text primary key,
       value text not null,
       revision uuid not null,
       written_at timestamptz not null
     )`,
    ],
  ],
])

export const SCHEMA_VERSION = Math.max(...MIGRATIONS.keys())

/** An index of a large table takes minutes. */
const MIGRATION_MS_MAX = 3_600_000

const CREATE_VERSIONS =
  'create table if not exists schema_migrations (version int primary key, applied_at timestamptz not null)'
const UNDEFINED_TABLE = '42P01'

/**
 * Applies the missing migrations, each in a transaction. If two commands run at the same time, the primary key lets
 * only one of them apply a migration, and the other one fails without a change.
 *
 * @returns the numbers of the migrations that were applied
 * @throws StoreError when the schema is newer than this program
 */
export const migrateDatabase = (url: string): Promise<number[]> => withPool(url, migrate)

async function migrate(pool: Pool): Promise<number[]> {
  await pool.query(CREATE_VERSIONS)
  const from = await readVersion(pool)
  if (from > SCHEMA_VERSION) throw new StoreError(describeMismatch(from))
  const missing = [...MIGRATIONS].filter(([version]) => version > from)
  for (const [version, statements] of missing) {
    const insert = `insert into schema_migrations (version, applied_at) values (${version}, now())`
    // The statements of one message are one transaction.
    const migration = { text: [insert, ...statements].join(';'), query_timeout: MIGRATION_MS_MAX }
    await pool.query(migration)
  }
  return missing.map(([version]) => version)
}

/** @throws StoreError when the schema has another version than this program needs */
export async function checkSchema(pool: Pool): Promise<void> {
  const version = await readVersion(pool)
  if (version !== SCHEMA_VERSION) throw new StoreError(describeMismatch(version))
}

async function readVersion(pool: Pool): Promise<number> {
  try {
    const { rows } = await pool.query<{ version: number | null }>(
      'select max(version)::int as version from schema_migrations',
    )
    return rows[0]?.version ?? 0
  } catch (cause) {
    if (errorCode(cause) === UNDEFINED_TABLE) return 0
    throw cause
  }
}

function describeMismatch(found: number): string {
  const advice = found < SCHEMA_VERSION ? 'run "irish-company-agent migrate"' : 'use the newer program'
  return `The schema of the response log has version ${found}, this program needs ${SCHEMA_VERSION}: ${advice}`
}
