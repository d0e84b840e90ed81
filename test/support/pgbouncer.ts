/** pgbouncer in transaction mode, which gives each transaction any of a few connections to the server. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { asServerUser, becomesReady, makeServerFolder } from './postgres.ts'

/** Debian's folder, which the PATH of an ordinary user lacks. */
const DEBIAN_FOLDER = '/usr/sbin'
const PORT = 6432
/** Fewer than the connections of one response log, so that they share them. */
const SERVER_CONNECTIONS = 3

export const findPgbouncer = () =>
  [...(process.env['PATH'] ?? '').split(delimiter), DEBIAN_FOLDER]
    .map((folder) => join(folder, 'pgbouncer'))
    .find((path) => existsSync(path))

export interface Pooler extends AsyncDisposable {
  /** The URL of a database of the server through the pooler. */
  through(url: string): string
}

/** @param settings lines of the section `pgbouncer` */
export async function startPgbouncer(serverSockets: string, settings: readonly string[] = []): Promise<Pooler> {
  const folder = await makeServerFolder()
  const [config, users] = [join(folder, 'pgbouncer.ini'), join(folder, 'users')]
  await writeFile(users, '"test" ""\n')
  const lines = [
    '[databases]',
    `* = host=${serverSockets}`,
    '[pgbouncer]',
    'listen_addr =',
    `listen_port = ${PORT}`,
    `unix_socket_dir = ${folder}`,
    'auth_type = trust',
    `auth_file = ${users}`,
    'pool_mode = transaction',
    `default_pool_size = ${SERVER_CONNECTIONS}`,
    ...settings,
  ]
  await writeFile(config, `${lines.join('\n')}\n`)
  const owner = asServerUser()
  const { uid, gid } = owner
  if (uid !== undefined && gid !== undefined) for (const path of [config, users]) await chown(path, uid, gid)
  const child = spawn(findPgbouncer() ?? 'pgbouncer', ['--quiet', config], { ...owner, stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => {
    child.once('exit', resolve)
    child.once('error', () => resolve())
  })
  const through = (url: string) => `postgres://test@localhost:${PORT}${new URL(url).pathname}?host=${folder}`
  const pooler = {
    through,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
  if (await becomesReady(child, through('postgres://localhost/postgres'))) return pooler
  await pooler[Symbol.asyncDispose]()
  throw new Error('pgbouncer did not start; .ci/run installs it')
}
