/** A PostgreSQL server of the test process, with durable commits. Each test gets a new database in it. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { withPool } from '../../store/log/postgres/connection.ts'
import { migrateDatabase } from '../../store/log/postgres/schema.ts'
import { childrenOf, isRunning } from './child-processes.ts'

/** Debian's folder has one subfolder per major version. */
const DEBIAN_FOLDER = '/usr/lib/postgresql'
/** A start after a kill reads the log again and syncs the disk, which takes long on a busy one. */
const START_MS_MAX = 120_000
const POLL_MS = 50
/** An error message contains this many characters from the end of the server's log. */
const LOG_SHOWN = 2000

/** The folder with `initdb` and `postgres`, or undefined if no server is installed. */
export function findPostgres(): string | undefined {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).toSorted((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => join(DEBIAN_FOLDER, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(':'),
  ]
  return folders.find((folder) => existsSync(join(folder, 'initdb')))
}

export interface PostgresServer {
  /** The folder of its Unix socket. */
  socketFolder: string
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>
  /** SIGKILL to the server and its backends, as in a power loss without the loss of the page cache. */
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** PostgreSQL refuses to run as root, so root runs it as the owner of its data folder. */
export const asServerUser = (): { uid?: number; gid?: number } =>
  process.getuid?.() === 0 ? { uid: SERVER_USER, gid: SERVER_USER } : {}
/** The numeric id of "nobody" on Debian. */
const SERVER_USER = 65_534

/** The name of a server's Unix socket. */
export const SOCKET = '.s.PGSQL.5432'

/** Runs a program of PostgreSQL as the user of the servers. */
async function runAsServerUser(program: string, args: string[]): Promise<void> {
  await promisify(execFile)(join(findBinaries(), program), args, { ...asServerUser(), timeout: START_MS_MAX })
}

function findBinaries(): string {
  const binaries = findPostgres()
  if (binaries === undefined) throw new Error('PostgreSQL is not installed')
  return binaries
}

/** Makes a folder that belongs to the user of the servers. */
export async function makeServerFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'))
  const { uid, gid } = asServerUser()
  if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid)
  return folder
}

export async function initialiseServer(data: string): Promise<void> {
  const options = ['--pgdata', data, '--username', 'test', '--auth', 'trust', '--no-sync', '--encoding', 'UTF8']
  await runAsServerUser('initdb', [...options, '--locale', 'C'])
}

interface LaunchedServer {
  /** SIGKILL to the server and its backends, as in a power loss without the loss of the page cache. */
  kill(): Promise<void>
}

/** Starts a server in a data folder, with its socket in another one, and waits until it answers. */
export async function launchServer(options: {
  data: string
  sockets: string
  settings?: Record<string, string>
}): Promise<LaunchedServer> {
  const { data, sockets, settings } = options
  // A Unix socket only, so no other process can take its port.
  const all = Object.entries({
    listen_addresses: '',
    unix_socket_directories: sockets,
    log_min_messages: 'log',
    // A start after a kill then syncs the file system once, and not each of 1,600 files.
    recovery_init_sync_method: 'syncfs',
    ...settings,
  })
  const log = await open(join(sockets, 'server.log'), 'a')
  const server = spawn(
    join(findBinaries(), 'postgres'),
    ['-D', data, ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...asServerUser(), detached: true, stdio: ['ignore', 'ignore', log.fd] },
  )
  await log.close()
  if (!(await becomesReady(server, urlIn(sockets, 'postgres')))) {
    const text = await readFile(join(sockets, 'server.log'), 'utf8')
    throw new Error(`PostgreSQL did not start: ${text.slice(-LOG_SHOWN)}`)
  }
  return { kill: () => killWithBackends(server) }
}

const hasExited = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null

/** @returns false if the server ended, or did not answer in time */
export async function becomesReady(server: ChildProcess, url: string): Promise<boolean> {
  for (let waited = 0; waited < START_MS_MAX && !hasExited(server); waited += POLL_MS) {
    try {
      await queryOnce(url, 'select 1')
      return true
    } catch {
      await sleep(POLL_MS)
    }
  }
  return false
}

/** Runs a statement on a connection of its own. */
async function queryOnce(url: string, statement: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  try {
    await client.connect()
    return await client.query(statement)
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function killWithBackends(server: ChildProcess): Promise<void> {
  const { pid } = server
  if (pid === undefined || hasExited(server)) return
  const exited = new Promise((resolve) => server.once('exit', resolve))
  // A stopped server makes no new backend while they are listed.
  process.kill(pid, 'SIGSTOP')
  // PostgreSQL refuses to start while a backend is left. A busy backend does not notice that the server has died.
  const backends = await childrenOf(pid)
  for (const each of [...backends, pid]) process.kill(each, 'SIGKILL')
  await exited
  for (const each of backends) while (await isRunning(each)) await sleep(POLL_MS)
}

const urlIn = (sockets: string, database: string) => `postgres://test@localhost/${database}?host=${sockets}`

export async function startPostgres(settings: Record<string, string> = {}): Promise<PostgresServer> {
  const parent = await makeServerFolder()
  const data = join(parent, 'data')
  await initialiseServer(data)
  const url = (database: string) => urlIn(parent, database)
  let server: LaunchedServer | undefined

  const start = async () => {
    server = await launchServer({ data, sockets: parent, settings })
  }
  const end = async () => {
    await server?.kill()
  }

  await start()
  return {
    socketFolder: parent,
    async createDatabase() {
      const name = `test_${randomUUID().replaceAll('-', '')}`
      await queryOnce(url('postgres'), `create database ${name}`)
      return url(name)
    },
    kill: end,
    start,
    async stop() {
      // Nothing of the data is needed any more, so no checkpoint is written.
      await end()
      await rm(parent, { recursive: true, force: true })
    },
  }
}

let shared: Promise<{ server: PostgresServer; url: string }> | undefined

/** The URL of an empty, migrated database on the server of this process. The server starts on first use. */
export async function makeEmptyLog(): Promise<string> {
  shared ??= startShared()
  const { url } = await shared
  await withPool(url, (pool) =>
    // `truncate` syncs files, which can exceed the time limit of a statement on a slow disk. `delete` does not.
    pool.query(['responses', 'records', 'documents'].map((table) => `delete from ${table}`).join('; ')),
  )
  return url
}

async function startShared() {
  const server = await startPostgres()
  const url = await server.createDatabase()
  await migrateDatabase(url)
  return { server, url }
}

/** Called by the root hook in hooks.ts. */
export async function stopSharedPostgres(): Promise<void> {
  const started = await shared
  shared = undefined
  await started?.server.stop()
}
