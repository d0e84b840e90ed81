/**
 * The upgrade and the move of the log, with the commands of docs/operations, on the data that a service of the version
 * before has left.
 */
import { execFile, spawnSync } from 'node:child_process'
import { chmod, cp, readdir, readFile, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { rpc, testChainUrl } from '../support/chain.ts'
import { ready, startChild, type Child } from '../support/child.ts'
import { REGISTER } from '../support/fixtures.ts'
import { freePort } from '../support/listen.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
/**
 * The keys, the response log and two sales of a test service. Commit c0c6fb0e wrote its log in LMDB with layout 2, and
 * migrated that in PostgreSQL to schema 6.
 */
const EARLIER = join(ROOT, 'test/fixtures/earlier-version')
const BACKUPS = '/var/backups/irish-company-agent'

interface Sold {
  pay_to: string
  /** The first one is confirmed, the second one is settled and not final. */
  purchases: { identity: string; payment: string; body: string; payment_response: string }[]
}

/** The commands of a section, without their comments. */
async function commandsOf(document: string, section: string): Promise<string[]> {
  const text = await readFile(join(ROOT, 'docs/operations', document), 'utf8')
  const [, block = ''] = text.split(`\n## ${section}\n`)[1]?.split('```')[1]?.split(/^sh\n/) ?? []
  return block.split('\n').flatMap((line) => (line === '' ? [] : line.replace(/ +#.*$/, '')))
}

/** Those of PostgreSQL name its variable, or migrate. */
async function documentedCommands(hasDatabase: boolean): Promise<string[]> {
  const commands = await commandsOf('drills.md', 'Upgrade')
  return commands.filter((command) => hasDatabase || !/RESPONSE_LOG|migrate/.test(command))
}

class Machine {
  readonly environment: Record<string, string>
  readonly #backups: string
  readonly #ran: string[] = []
  service: Child | undefined
  url = ''

  constructor(environment: Record<string, string>, backups: string) {
    this.environment = environment
    this.#backups = backups
  }

  /** Runs a documented command. The checkout of this test is the new version, already built. */
  async run(command: string): Promise<string> {
    this.#ran.push(command)
    const [, args] = /^agent (.*)$/.exec(command.replaceAll(BACKUPS, this.#backups)) ?? []
    if (args !== undefined) return this.agent(args.split(' '))
    if (command === 'systemctl start irish-company-agent') return this.start()
    if (command === 'systemctl stop irish-company-agent') return this.stop()
    if (command.startsWith('cd /opt/irish-company-agent && git pull')) return ''
    return this.shell(command)
  }

  async agent(args: string[]): Promise<string> {
    const child = startChild('agent/main.js', args, this.environment)
    let text = ''
    child.process.stdout?.on('data', (part: Buffer) => (text += String(part)))
    const code = await child.ended
    return code === 0 ? text : `exit ${code}: ${child.stderr()}`
  }

  async start(): Promise<string> {
    this.service = startChild('agent/main.js', ['serve'], this.environment)
    return (this.url = await ready(this.service))
  }

  async stop(): Promise<string> {
    this.service?.process.kill('SIGTERM')
    await this.service?.ended
    this.service = undefined
    return ''
  }

  async shell(command: string): Promise<string> {
    const { ADMIN_PORT = '' } = this.environment
    const script = command.replaceAll(BACKUPS, this.#backups).replace('9464', ADMIN_PORT)
    const PATH = [findPostgres() ?? '', process.env['PATH']].join(delimiter)
    return (await promisify(execFile)('sh', ['-c', script], { env: { ...this.environment, PATH } })).stdout
  }

  replay(payment: string): Promise<Response> {
    return fetch(`${this.url}/api/v1/company/73848`, { headers: { 'PAYMENT-SIGNATURE': payment } })
  }
}

describe('the documented upgrade', function () {
  this.timeout(400_000)
  let machine: Machine
  let server: PostgresServer | undefined

  afterEach(async () => {
    await machine.stop()
    await server?.stop()
    server = undefined
  })

  /** A machine with the data of the version before. */
  async function prepare(name: string, own: Record<string, string>): Promise<Sold> {
    const [directory, backups] = [await makeTemporaryDirectory(), await makeTemporaryDirectory()]
    await cp(join(EARLIER, name), directory, { recursive: true })
    // A checkout has other modes than those that the service requires.
    const entries = await readdir(directory, { recursive: true, withFileTypes: true })
    for (const entry of entries) await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600)
    const sold = JSON.parse(await readFile(join(directory, 'sold.json'), 'utf8')) as Sold
    const chain = await testChainUrl()
    // The first block has no block before it, whose hash an observation needs.
    await rpc(chain, 'anvil_mine', '0x2')
    machine = new Machine(
      {
        DATA_DIR: directory,
        MODE: 'testnet',
        FACILITATOR: 'http://127.0.0.1:1',
        RPC_URL: chain,
        PAY_TO: sold.pay_to,
        DATASET: REGISTER,
        PORT: '0',
        ADMIN_PORT: String(await freePort()),
        // The fixture never gets too old.
        RESPONSE_RETENTION_DAYS: '36500',
        ...own,
      },
      backups,
    )
    return sold
  }

  async function expectUpgraded({ purchases }: Sold): Promise<void> {
    const [confirmed] = purchases
    if (!confirmed) throw new Error('The fixture has no purchase')
    const reply = await machine.replay(confirmed.payment)
    expect([reply.status, await reply.text()]).to.deep.equal([200, confirmed.body])
    expect(reply.headers.get('PAYMENT-RESPONSE')).to.equal(confirmed.payment_response)
  }

  async function runCommands(commands: readonly string[], sold: Sold): Promise<void> {
    for (const command of commands) {
      const output = await machine.run(command)
      expect(output, command).not.to.match(/^exit /)
      if (command.startsWith('agent backup')) expect(output).to.match(/^backed up (2 records|the keys)/)
      if (command.startsWith('agent migrate')) expect(output).to.contain('applied migration 7')
      if (command.startsWith('systemctl start')) await expectUpgraded(sold)
      if (command.startsWith('curl')) expect(output, machine.service?.stderr()).to.contain('"ready":true')
    }
  }

  it('keeps the payments of LMDB, and open ones are still listed', async () => {
    const sold = await prepare('lmdb', {})
    const commands = await documentedCommands(false)
    expect(commands).to.have.lengthOf(5)
    const unfinished = () => machine.agent(['payments', 'unfinished'])
    expect(await unfinished()).to.match(/^exit 1: .*needs an upgrade; start the service/)
    await runCommands(commands, sold)
    const listed = await unfinished()
    expect(listed).to.contain(sold.purchases[1]?.identity)

    await machine.stop()
    const directory = machine.environment['DATA_DIR'] ?? ''
    for (const name of ['responses', 'keys']) await rm(join(directory, name), { recursive: true })
    await machine.run(`agent restore ${BACKUPS}/before-upgrade`)
    expect(await unfinished()).to.equal(listed)
    await machine.start()
    await expectUpgraded(sold)
  })

  it('keeps the payments of PostgreSQL, refuses a start before the migration, and can be taken back', async function () {
    const binaries = findPostgres()
    if (binaries === undefined) return this.skip()
    server = await startPostgres()
    const url = await server.createDatabase()
    const sold = await prepare('postgres', { RESPONSE_LOG: url })
    const load = [
      '--quiet',
      '--set=ON_ERROR_STOP=1',
      '--output=/dev/null',
      `--file=${join(EARLIER, 'postgres/log.sql')}`,
    ]
    expect(spawnSync(join(binaries, 'psql'), [...load, url], { encoding: 'utf8', timeout: 60_000 }).stderr).to.equal('')
    const commands = await documentedCommands(true)
    expect(commands).to.have.lengthOf(7)

    const migrates = commands.indexOf('agent migrate')
    await runCommands(commands.slice(0, migrates), sold)
    expect(await machine.agent(['serve'])).to.match(
      /^exit 1: [^]*has version 6, .* run "irish-company-agent migrate"\n$/,
    )
    await runCommands(commands.slice(migrates, migrates + 1), sold)
    expect(await machine.agent(['payments', 'unfinished'])).to.contain(sold.purchases[1]?.identity)
    await runCommands(commands.slice(migrates + 1), sold)

    await machine.stop()
    const drills = await readFile(join(ROOT, 'docs/operations/drills.md'), 'utf8')
    const [restore = 'exit 1'] = /^createdb [^]*?"\$RESTORED" log\.dump/m.exec(drills) ?? []
    const restored = Object.assign(new URL(url), { pathname: '/companies_restored' }).href
    machine.environment['RESTORED'] = restored
    await machine.shell(restore.replace('log.dump', `${BACKUPS}/before-upgrade.dump`))
    machine.environment['RESPONSE_LOG'] = restored
    expect(await machine.agent(['serve'])).to.contain('has version 6')
    // The folder of the first upgrade is still there.
    await runCommands(
      commands.map((command) => command.replaceAll('before-upgrade', 'before-second-upgrade')),
      sold,
    )
    expect(await machine.agent(['payments', 'unfinished'])).to.contain(sold.purchases[1]?.identity)
  })

  it('[14.23] moves the log to PostgreSQL and back, with kills, and replays its payments on each', async function () {
    if (findPostgres() === undefined) return this.skip()
    server = await startPostgres()
    const url = await server.createDatabase()
    const sold = await prepare('lmdb', {})
    await machine.start()
    await expectUpgraded(sold)
    const [stop = '', migrate = '', move = '', start = ''] = await commandsOf('machines.md', 'Move the log')
    await machine.run(stop)
    const { DATA_DIR = '' } = machine.environment
    const documented = /postgres:\S+/
    const source = { ...machine.environment }
    machine.environment['RESPONSE_LOG'] = url
    expect(await machine.run(migrate.replace(/^.*(?=agent)/, ''))).to.contain('applied migration 7')
    delete machine.environment['RESPONSE_LOG']
    await moveWithKills(move.replace(documented, url))
    expect(await machine.agent(['serve'])).to.match(/^exit 1: .*moved.*\n$/)
    machine.environment['RESPONSE_LOG'] = url
    await machine.run(start)
    await expectUpgraded(sold)

    const [, back = ''] = await commandsOf('drills.md', 'Move the log')
    await machine.stop()
    await moveWithKills(back.replace('"$DATA_DIR"', DATA_DIR))
    expect(await machine.agent(['serve'])).to.match(/^exit 1: The response log was moved to .*\n$/)
    expect(await machine.agent(['move-log', '--cancel', '--to', DATA_DIR])).to.match(/^exit 1: .*complete\n$/)
    for (const name of Object.keys(machine.environment)) delete machine.environment[name]
    Object.assign(machine.environment, source)
    await machine.run(start)
    await expectUpgraded(sold)
    const backup = `agent backup ${BACKUPS}/after-move`
    expect(await machine.run(backup)).to.contain('backed up 2 records')
  })

  /** Kills the command at five points of its run, and then lets it end. */
  async function moveWithKills(command: string): Promise<void> {
    const args = command.split(' ').slice(1)
    const began = performance.now()
    await machine.agent(['help', 'move-log'])
    const loadMs = performance.now() - began
    for (let kill = 0; kill < 5; kill += 1) {
      const child = startChild('agent/main.js', args, machine.environment)
      const timer = setTimeout(() => child.process.kill('SIGKILL'), loadMs * (0.5 + kill / 5))
      const code = await child.ended
      clearTimeout(timer)
      if (code !== 'SIGKILL') break
    }
    expect(await machine.run(command)).to.match(/^moved 2 records to |complete\n$/)
  }
})
