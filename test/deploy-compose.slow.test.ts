/** The scripts of the Compose file make a synchronous standby, and the drill of a failover works on it. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import pg from 'pg'
import { runChecks } from '../operator/check/run.ts'
import { readConfig } from '../agent/service/config.ts'
import { migrateDatabase } from '../store/log/postgres/schema.ts'
import { freePort } from './support/listen.ts'
import { asServerUser, findPostgres, initialiseServer, makeServerFolder } from './support/postgres.ts'
import { needProgram } from './support/programs.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))
const run = promisify(execFile)
const START_MS_MAX = 60_000
const POLL_MS = 50

describe('the scripts of the Compose file', function () {
  this.timeout(180_000)

  it('[14.22] make a primary that waits for its standby, and `check` sees whether it does', async function () {
    const binaries = needProgram(this, 'PostgreSQL', findPostgres())
    const folder = await makeServerFolder()
    const port = await freePort()
    const running: ChildProcess[] = []
    const environment = {
      PATH: `${binaries}:${process.env['PATH'] ?? ''}`,
      PGPORT: String(port),
      PGPASSWORD: 'a password',
    }
    const start = (command: string, args: string[], own: Record<string, string>) => {
      const child = spawn(command, args, { ...asServerUser(), env: { ...environment, ...own }, stdio: 'ignore' })
      running.push(child)
      return child
    }
    try {
      // As the image does: the scripts run while the server listens on its socket only.
      const data = join(folder, 'primary')
      await initialiseServer(data)
      // Neither has the image a line for replication.
      await writeFile(join(data, 'pg_hba.conf'), 'local all all trust\nhost all all all scram-sha-256\n')
      const socket = ['-c', `unix_socket_directories=${folder}`]
      const first = start('postgres', ['-D', data, ...socket, '-c', 'listen_addresses='], {})
      const local = { host: folder, port, user: 'test', database: 'postgres' }
      await queryWhenReady(local, 'select 1')
      const own = { PGDATA: data, PGHOST: folder, POSTGRES_USER: 'test', POSTGRES_DB: 'postgres' }
      await run('sh', [join(DEPLOY, 'compose/primary.sh')], {
        ...asServerUser(),
        env: { ...environment, ...own, POSTGRES_PASSWORD: environment.PGPASSWORD },
      })
      first.kill('SIGINT')
      await once(first, 'exit')

      const primary = start('postgres', ['-D', data, ...socket, '-c', 'listen_addresses=127.0.0.1'], {})
      await queryWhenReady(local, 'select 1')
      const standby = { PGDATA: join(folder, 'standby'), PGHOST: '127.0.0.1', PGUSER: 'replicator' }
      const second = String(await freePort())
      const follow = () => start('sh', [join(DEPLOY, 'compose/standby.sh'), '-c', `port=${second}`, ...socket], standby)
      const follower = follow()
      const state = `select sync_state from pg_stat_replication where application_name = 'standby' and sync_state = 'sync'`
      expect(await queryWhenReady(local, state)).to.deep.equal([{ sync_state: 'sync' }])
      // Waits for the standby.
      await queryWhenReady(local, 'create table sold as select 1 as number')
      const url = `postgres://test@localhost:${port}/postgres?host=${folder}`
      await migrateDatabase(url)
      const config = readConfig({ DATA_DIR: folder, RESPONSE_LOG: url })
      const detail = 'PostgreSQL with a synchronous standby, 0 payments without a final outcome'
      const context = { environment: {}, now: () => new Date(), fetch }
      const checkLog = async () => (await runChecks(context, config, ['response log']).next()).value
      expect(await checkLog()).to.deep.equal({ check: 'response log', kind: 'passed', detail })
      await end(follower)
      expect(await checkLog()).to.include({ kind: 'failed' })
      follow()
      await queryWhenReady(local, state)
      expect(await queryWhenReady({ ...local, port: Number(second) }, 'select number from sold')).to.deep.equal([
        { number: 1 },
      ])

      // The failover of docs/operations/drills.md.
      await end(primary)
      const promoted = { ...local, port: Number(second) }
      await run('pg_ctl', ['promote', '-D', standby.PGDATA], { ...asServerUser(), env: environment })
      const drills = await readFile(join(DEPLOY, '../docs/operations/drills.md'), 'utf8')
      const commands = [...drills.matchAll(/--command='([^']+)'/g)].map(([, command = '']) => command)
      expect(commands).to.have.lengthOf(2)
      for (const command of commands) await queryWhenReady(promoted, command)
      await queryWhenReady(promoted, 'create table more as select 2 as number')
      expect(await queryWhenReady(promoted, 'select number from more')).to.deep.equal([{ number: 2 }])
    } finally {
      for (const child of running.toReversed()) await end(child)
      await rm(folder, { recursive: true, force: true })
    }
  })
})

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  server.kill('SIGQUIT')
  await once(server, 'exit')
}

/** The rows of a query, repeated until it succeeds and has rows, or is a statement without rows. */
async function queryWhenReady(target: pg.ClientConfig, query: string): Promise<unknown[]> {
  for (let waited = 0; waited < START_MS_MAX; waited += POLL_MS) {
    const client = new pg.Client(target)
    // The server of a connection can end.
    client.on('error', () => undefined)
    try {
      await client.connect()
      const { rows } = await client.query(query)
      if (rows.length > 0 || /^(create|alter) /.test(query)) return rows
    } catch {
      // The server is starting.
    } finally {
      await client.end().catch(() => undefined)
    }
    await sleep(POLL_MS)
  }
  throw new Error(`No result in time: ${query}`)
}
