/**
 * The Compose file: its parts fit together, its service has a valid configuration, and its scripts make a synchronous
 * standby.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import pg from 'pg'
import { runChecks } from '../agent/operator/check/run.ts'
import { readConfig, VARIABLE_NAMES } from '../agent/service/config.ts'
import { migrateDatabase } from '../store/log/postgres/schema.ts'
import { freePort } from './support/listen.ts'
import { asServerUser, findPostgres, initialiseServer, makeServerFolder } from './support/postgres.ts'
import { findPython, runPython } from './support/python.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))
const run = promisify(execFile)
const START_MS_MAX = 60_000
const POLL_MS = 50

interface ComposeService {
  image: string
  build?: { context: string; dockerfile: string }
  environment?: Record<string, string>
  volumes?: string[]
  ports?: string[]
  depends_on?: Record<string, object>
  user?: string
  read_only?: boolean
  cap_drop?: string[]
  stop_grace_period?: string
}

interface Compose {
  services: Record<string, ComposeService>
  volumes: Record<string, null>
}

describe('the Compose file', function () {
  this.timeout(180_000)
  let compose: Compose

  before(async function () {
    const python = await findPython(['yaml'])
    if (python === undefined) {
      process.stderr.write('\nSKIPPED: the tests of the Compose file, because python3 has no module yaml\n')
      return this.skip()
    }
    const program = 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))'
    const stdin = await readFile(join(DEPLOY, 'compose.yaml'), 'utf8')
    const { code, stdout, stderr } = await runPython(['-c', program], { stdin, python })
    expect(code, stderr).to.equal(0)
    compose = JSON.parse(stdout) as Compose
  })

  const service = (name: string): ComposeService => compose.services[name] ?? { image: '' }

  it('names only services, volumes and files that exist', () => {
    expect(Object.keys(compose.services)).to.have.members(['migrate', 'service', 'primary', 'standby', 'prometheus'])
    for (const [name, { build, volumes = [], depends_on: needed = {} }] of Object.entries(compose.services)) {
      for (const other of Object.keys(needed)) expect(compose.services, name).to.have.property(other)
      for (const volume of volumes) {
        const [source = ''] = volume.split(':')
        if (source.startsWith('.')) expect(statSync(join(DEPLOY, source)).isFile(), volume).to.equal(true)
        else expect(compose.volumes, name).to.have.property(source)
      }
      if (build) expect(existsSync(join(DEPLOY, build.context, build.dockerfile))).to.equal(true)
    }
  })

  it('gives the service a valid configuration, from the variables that the guide lists', async () => {
    const { environment = {} } = service('service')
    const guide = await readFile(join(DEPLOY, '../docs/operations/containers.md'), 'utf8')
    const [, file = ''] = /cat > \.env <<'END'\n(.*?)END/s.exec(guide) ?? []
    const given = new Map(file.split('\n').map((line) => line.split('=', 2) as [string, string]))
    given.set('PAY_TO', `0x${'c7'.repeat(20)}`)
    const filled = Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(
        /\$\{(\w+):\?\}/g,
        (_, variable: string) => given.get(variable) ?? `${variable} is not in the guide`,
      ),
    ])
    const { PGPASSWORD, ...variables } = Object.fromEntries(filled) as Record<string, string>
    expect(PGPASSWORD).to.equal('...')
    for (const name of Object.keys(variables)) expect(VARIABLE_NAMES.has(name), name).to.equal(true)
    const config = readConfig({ ...variables, HOST: '0.0.0.0' })
    expect(config.facilitator.kind).to.equal('remote')
    expect(config.admin).to.deep.include({ port: 4022 })
    expect(new URL(config.responseLog ?? '').hostname).to.equal('primary')
  })

  it('restricts the service, and publishes ports on the loopback address only', () => {
    expect(service('service')).to.deep.include({ user: '10001:10001', read_only: true, cap_drop: ['ALL'] })
    expect(Number.parseInt(service('service').stop_grace_period ?? '', 10)).to.be.greaterThan(70)
    const ports = Object.values(compose.services).flatMap((each) => each.ports ?? [])
    expect(ports).to.have.lengthOf(2)
    for (const port of ports) expect(port).to.match(/^127\.0\.0\.1:/)
  })

  it('has a configuration of Prometheus with the rules of the service', async function () {
    const folder = await mkdtemp(join(tmpdir(), 'prometheus-'))
    try {
      for (const volume of service('prometheus').volumes ?? []) {
        const [source = '', target = ''] = volume.split(':')
        if (target.startsWith('/etc/prometheus/')) await cp(join(DEPLOY, source), join(folder, target.slice(16)))
      }
      const config = join(folder, 'prometheus.yml')
      const checked = await run('promtool', ['check', 'config', config]).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      })
      if (!checked) return this.skip()
      expect(checked.stdout).to.match(/SUCCESS: [1-9][0-9]* rules found/)
      expect(await readFile(config, 'utf8')).to.contain("targets: ['service:4022']")
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('[14.22] makes a primary that waits for its standby, with its two scripts, and `check` sees whether it does', async function () {
    const binaries = findPostgres()
    if (binaries === undefined) return this.skip()
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
