/** PostgreSQL with pg_trgm in a temporary cluster: a GIN index, `%` at its default threshold, ordered by similarity. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'

/** Where Debian installs version 15, and pg_trgm of the package `postgresql-contrib`. */
const BINARIES = '/usr/lib/postgresql/15/bin'
const EXTENSION = '/usr/share/postgresql/15/extension/pg_trgm.control'

/** PostgreSQL refuses to run as root. This is Debian's user `nobody`. */
const NOBODY = 65_534
const READY_ATTEMPTS = 100
const READY_WAIT_MS = 100
const BATCH_ROWS = 10_000
/** Memory for the whole index and no waiting for the disk: the benchmark measures the search. */
const SETTINGS = {
  listen_addresses: '',
  shared_buffers: '512MB',
  fsync: 'off',
  full_page_writes: 'off',
  max_parallel_workers_per_gather: '0',
}

export async function open(companies, limit) {
  const isInstalled = await Promise.all([access(join(BINARIES, 'initdb')), access(EXTENSION)]).then(
    () => true,
    () => false,
  )
  if (!isInstalled) return undefined
  const cluster = await startCluster()
  try {
    await load(cluster.sql, companies)
  } catch (cause) {
    await cluster.stop()
    throw cause
  }
  return {
    name: 'PostgreSQL 15, pg_trgm, GIN',
    async top(text) {
      const found = await cluster.sql`
        SELECT number FROM company WHERE text % ${text}
        ORDER BY similarity(text, ${text}) DESC, number LIMIT ${limit}`
      return found.map(({ number }) => number)
    },
    close: () => cluster.stop(),
  }
}

async function startCluster() {
  const directory = await mkdtemp(join(tmpdir(), 'bench-pg-'))
  const isRoot = process.getuid?.() === 0
  if (isRoot) await chown(directory, NOBODY, NOBODY)
  const data = join(directory, 'data')
  const run = (program, ...args) =>
    spawn(join(BINARIES, program), args, {
      ...(isRoot && { uid: NOBODY, gid: NOBODY }),
      cwd: directory,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  await succeeded(run('initdb', '-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'))
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = run('postgres', '-D', data, '-k', directory, ...settings)
  server.stderr.resume()
  const sql = postgres({ host: directory, database: 'postgres', username: 'bench', max: 1, onnotice: () => undefined })
  async function stop() {
    await sql.end({ timeout: 1 })
    const ended = server.exitCode === null ? once(server, 'exit') : undefined
    // SIGINT is PostgreSQL's fast shutdown.
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

async function succeeded(child) {
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += chunk.toString()))
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`initdb failed: ${stderr}`)
}

async function ready(sql, server) {
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

async function load(sql, companies) {
  await sql`CREATE EXTENSION pg_trgm`
  await sql`CREATE UNLOGGED TABLE company (number text NOT NULL, text text NOT NULL)`
  for (let from = 0; from < companies.length; from += BATCH_ROWS) {
    const batch = companies.slice(from, from + BATCH_ROWS)
    const [numbers, texts] = [batch.map(({ number }) => number), batch.map(({ text }) => text)]
    await sql`INSERT INTO company SELECT * FROM unnest(${numbers}::text[], ${texts}::text[])`
  }
  await sql`CREATE INDEX ON company USING gin (text gin_trgm_ops)`
  await sql`VACUUM ANALYZE company`
}
