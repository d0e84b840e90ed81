/** The upgrade and the move of the log, with the commands of docs/operations, by a service that has sold. */
import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { Hex } from 'viem'
import { testChainUrl } from '../support/chain.ts'
import { ready, startChild, stopService, type Child } from '../support/child.ts'
import { REGISTER } from '../support/fixtures.ts'
import { freePort } from '../support/listen.ts'
import { signQuote } from '../support/payments.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { needProgram } from '../support/programs.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const BACKUPS = '/var/backups/irish-company-agent'

interface Sale {
  payment: string
  body: string
  paymentResponse: string | null
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

  /** Runs a documented command. The checkout of this test is already built. */
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
    const child = startChild('operator/main.js', args, this.environment)
    let text = ''
    child.process.stdout?.on('data', (part: Buffer) => (text += String(part)))
    const code = await child.ended
    return code === 0 ? text : `exit ${code}: ${child.stderr()}`
  }

  async start(): Promise<string> {
    this.service = startChild('operator/main.js', ['serve'], this.environment)
    return (this.url = await ready(this.service))
  }

  async stop(): Promise<string> {
    if (this.service) await stopService(this.service)
    this.service = undefined
    return ''
  }

  async shell(command: string): Promise<string> {
    const { ADMIN_PORT = '' } = this.environment
    const script = command.replaceAll(BACKUPS, this.#backups).replace('9464', ADMIN_PORT)
    const PATH = [findPostgres() ?? '', process.env['PATH']].join(delimiter)
    return (await promisify(execFile)('sh', ['-c', script], { env: { ...this.environment, PATH } })).stdout
  }

  /** Sells a record, or sends its answer again. */
  async lookup(payment: string): Promise<Sale> {
    const reply = await this.#request({ 'PAYMENT-SIGNATURE': payment })
    expect(reply.status).to.equal(200)
    return { payment, body: await reply.text(), paymentResponse: reply.headers.get('PAYMENT-RESPONSE') }
  }

  async sell(): Promise<Sale> {
    const quote = await this.#request({})
    const key = this.service?.said.get('buyer') as Hex
    return this.lookup(await signQuote(quote.headers.get('PAYMENT-REQUIRED'), { key }))
  }

  #request(headers: Record<string, string>): Promise<Response> {
    return fetch(`${this.url}/api/v1/company/73848`, { headers })
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

  /** A machine that runs and has sold a record. */
  async function prepare(own: Record<string, string>): Promise<Sale> {
    machine = new Machine(
      {
        DATA_DIR: await makeTemporaryDirectory(),
        RPC_URL: await testChainUrl(),
        DATASET: REGISTER,
        PORT: '0',
        ADMIN_PORT: String(await freePort()),
        ...own,
      },
      await makeTemporaryDirectory(),
    )
    if (own['RESPONSE_LOG'] !== undefined) await machine.run('agent migrate')
    await machine.start()
    return machine.sell()
  }

  async function expectReplay(sale: Sale): Promise<void> {
    expect(await machine.lookup(sale.payment)).to.deep.equal(sale)
  }

  async function runCommands(commands: readonly string[], sale: Sale): Promise<void> {
    for (const command of commands) {
      const output = await machine.run(command)
      expect(output, command).not.to.match(/^exit /)
      if (command.startsWith('agent backup')) expect(output).to.match(/^backed up (1 records|the keys)/)
      if (command.startsWith('agent migrate')) expect(output).to.match(/^schema version [0-9]+\n$/)
      if (command.startsWith('systemctl start')) await expectReplay(sale)
      if (command.startsWith('curl')) expect(output, machine.service?.stderr()).to.contain('"ready":true')
    }
  }

  it('keeps the payments of LMDB, and can be taken back', async () => {
    const sale = await prepare({})
    const commands = await documentedCommands(false)
    expect(commands).to.have.lengthOf(5)
    await runCommands(commands, sale)

    await machine.stop()
    const directory = machine.environment['DATA_DIR'] ?? ''
    for (const name of ['responses', 'keys']) await rm(join(directory, name), { recursive: true })
    await machine.run(`agent restore ${BACKUPS}/before-upgrade`)
    await machine.start()
    await expectReplay(sale)
  })

  it('keeps the payments of PostgreSQL, and can be taken back', async function () {
    needProgram(this, 'PostgreSQL', findPostgres())
    server = await startPostgres()
    const url = await server.createDatabase()
    const sale = await prepare({ RESPONSE_LOG: url })
    const commands = await documentedCommands(true)
    expect(commands).to.have.lengthOf(7)
    await runCommands(commands, sale)

    await machine.stop()
    const drills = await readFile(join(ROOT, 'docs/operations/drills.md'), 'utf8')
    const [restore = 'exit 1'] = /^createdb [^]*?"\$RESTORED" log\.dump/m.exec(drills) ?? []
    const restored = Object.assign(new URL(url), { pathname: '/companies_restored' }).href
    machine.environment['RESTORED'] = restored
    await machine.shell(restore.replace('log.dump', `${BACKUPS}/before-upgrade.dump`))
    machine.environment['RESPONSE_LOG'] = restored
    await machine.start()
    await expectReplay(sale)
  })

  it('[14.23] moves the log to PostgreSQL, and replays its payments there', async function () {
    needProgram(this, 'PostgreSQL', findPostgres())
    server = await startPostgres()
    const url = await server.createDatabase()
    const sale = await prepare({})
    const [stop = '', migrate = '', move = '', start = ''] = await commandsOf('machines.md', 'Move the log')
    await machine.run(stop)
    const documented = /postgres:\S+/
    machine.environment['RESPONSE_LOG'] = url
    expect(await machine.run(migrate.replace(/^.*(?=agent)/, ''))).to.contain('applied migration 1')
    delete machine.environment['RESPONSE_LOG']
    expect(await machine.run(move.replace(documented, url))).to.match(/^moved 1 records to /)
    const moved = /^exit 1: The response log was moved to .*\n$/
    for (const command of [
      ['serve'],
      ['payments', 'unfinished'],
      ['keys', 'list'],
      ['backup', join(await makeTemporaryDirectory(), 'backup')],
    ])
      expect(await machine.agent(command), command.join(' ')).to.match(moved)
    machine.environment['RESPONSE_LOG'] = url
    await machine.run(start)
    await expectReplay(sale)
  })
})
