/** PostgreSQL with pg_trgm on a throw-away cluster: a GIN index, `%` at its default threshold, ordered by similarity. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { access, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import type { Listed } from '../quality/register.ts'
import { peerText, RANKED, type OpenContender } from './contender.ts'

/** Debian's place for version 15, and for pg_trgm (package `postgresql-contrib`). */
const BINARIES = '/usr/lib/postgresql/15/bin'
const EXTENSION = '/usr/share/postgresql/15/extension/pg_trgm.control'

/** It refuses to run as root: Debian's `nobody`. */
const NOBODY = 65_534
const READY_ATTEMPTS = 100
const READY_WAIT_MS = 100
const BATCH_ROWS = 10_000
/** Room for the whole index, and no waiting for the disk: what is measured is the search. */
const SETTINGS = {
  listen_addresses: '',
  shared_buffers: '512MB',
  fsync: 'off',
  full_page_writes: 'off',
  max_parallel_workers_per_gather: '0',
}

export const POSTGRES = 'PostgreSQL 15, pg_trgm, GIN'

export const openPostgres: OpenContender = async (companies) => {
  const isInstalled = await Promise.all([access(join(BINARIES, 'initdb')), access(EXTENSION)]).then(
    () => true,
    () => false,
  )
  if (!isInstalled) {
    process.stdout.write('left out: PostgreSQL; install the packages postgresql-15 and postgresql-contrib\n')
    return undefined
  }
  const cluster = await startCluster()
  try {
    await load(cluster.sql, companies)
  } catch (cause) {
    await cluster.stop()
    throw cause
  }
  return {
    name: POSTGRES,
    async top(name) {
      const text = peerText(name)
      const found = await cluster.sql<{ number: string }[]>`
        SELECT number FROM company WHERE name % ${text}
        ORDER BY similarity(name, ${text}) DESC, number LIMIT ${RANKED}`
      return found.map(({ number }) => number)
    },
    close: () => cluster.stop(),
  }
}

interface Cluster {
  sql: Sql
  stop(): Promise<void>
}

async function startCluster(): Promise<Cluster> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-pg-'))
  const owner = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  if ('uid' in owner) await chown(directory, NOBODY, NOBODY)
  const data = join(directory, 'data')
  const run = (program: string, ...args: string[]) =>
    spawn(join(BINARIES, program), args, { ...owner, cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] })
  await succeeded(run('initdb', '-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'))
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = run('postgres', '-D', data, '-k', directory, ...settings)
  server.stderr?.resume()
  const sql = postgres({ host: directory, database: 'postgres', username: 'bench', max: 1, onnotice: () => undefined })
  async function stop(): Promise<void> {
    await sql.end({ timeout: 1 })
    const ended = server.exitCode === null ? once(server, 'exit') : undefined
    // Its fast shutdown.
    server.kill('SIGINT')
    await ended
    await rm(directory, { recursive: true })
  }
  try {
    await ready(sql, server)
  } catch (cause) {
    await stop()
    throw cause
  }
  return { sql, stop }
}

async function succeeded(child: ChildProcess): Promise<void> {
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`initdb failed: ${said}`)
}

async function ready(sql: Sql, server: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < READY_ATTEMPTS && server.exitCode === null; attempt += 1) {
    const isReady = await sql`SELECT 1`.then(
      () => true,
      () => false,
    )
    if (isReady) return
    await sleep(READY_WAIT_MS)
  }
  throw new Error('PostgreSQL did not start')
}

async function load(sql: Sql, companies: readonly Listed[]): Promise<void> {
  await sql`CREATE EXTENSION pg_trgm`
  await sql`CREATE UNLOGGED TABLE company (number text NOT NULL, name text NOT NULL)`
  for (let from = 0; from < companies.length; from += BATCH_ROWS) {
    const batch = companies.slice(from, from + BATCH_ROWS)
    const numbers = batch.map(({ number }) => number)
    const names = batch.map(({ name }) => peerText(name))
    await sql`INSERT INTO company SELECT * FROM unnest(${numbers}::text[], ${names}::text[])`
  }
  await sql`CREATE INDEX ON company USING gin (name gin_trgm_ops)`
  await sql`VACUUM ANALYZE company`
}
