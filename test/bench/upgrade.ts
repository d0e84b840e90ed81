/**
 * `bench upgrade --former TREE [--sales N]`: the built service of a former version sells every operation over every
 * transport and is killed during sales. The upgrade, the rollback and the next upgrade of docs/operations/drills.md
 * follow, with LMDB and with PostgreSQL. Each sale replays byte for byte on each version, and no payment is charged
 * twice.
 */
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DAY_MS, toDay } from '../../store/base/day.ts'
import { testChainUrl } from '../support/chain.ts'
import { ready, startChild, type Child } from '../support/child.ts'
import { signQuote } from '../support/payments.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
import { SAMPLE_SHOWCASE } from '../support/sample/showcase.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { tokenOn } from '../support/token.ts'
import { requestOverTransports, type Ask, type Operation } from '../support/transports.ts'
import { print } from './report.ts'

const SALES = 300
/** Sales in progress when the process is killed. */
const KILLED = 30
const AT_ONCE = 10
const END_MS_MAX = 120_000
const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const { number: company_number, name } = SAMPLE_SHOWCASE.live
const day = (daysAgo: number) => toDay(Date.now() - daysAgo * DAY_MS)

const OPERATIONS: readonly Operation[] = [
  { operation: 'lookup', input: { company_number } },
  { operation: 'search', input: { q: name } },
  { operation: 'resolve', input: { name } },
  { operation: 'history', input: { company_number } },
  { operation: 'as_of', input: { company_number, date: day(1) } },
  { operation: 'changes', input: { since: day(3) } },
  { operation: 'batch', input: { operation: 'lookup', inputs: [{ company_number }, { company_number: '00000000' }] } },
]

interface Sale {
  ask: Ask
  payment: string
  /** Of the first answer. Undefined if the service was killed before it. */
  answer?: string
}

/** A machine whose program can be exchanged. */
class Machine {
  readonly environment: Record<string, string>
  url = ''
  buyerKey: `0x${string}` = '0x'
  #service: Child | undefined

  constructor(environment: Record<string, string>) {
    this.environment = environment
  }

  async run(tree: string, ...args: string[]): Promise<void> {
    const child = startChild(join(tree, 'dist/agent/main.js'), args, this.environment)
    if ((await child.ended) !== 0) throw new Error(`${args.join(' ')}: ${child.stderr()}`)
  }

  async start(tree: string): Promise<void> {
    this.#service = startChild(join(tree, 'dist/agent/main.js'), ['serve'], this.environment)
    this.url = await ready(this.#service)
    this.buyerKey = this.#service.said.get('buyer') as `0x${string}`
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#service?.process.kill(signal)
    await this.#service?.ended
    this.#service = undefined
  }

  /** A payment for the next operation over the next transport. */
  async order(index: number): Promise<Sale> {
    const { rest, a2a, mcp } = requestOverTransports(() => this)
    const operation = OPERATIONS[index % OPERATIONS.length]!
    const transport = [rest, mcp, (asked: Operation, payment?: string) => a2a(asked, payment, index)][index % 3]!
    const ask: Ask = (payment) => transport(operation, payment)
    const quote = await ask()
    return { ask, payment: await signQuote(String(quote.headers['payment-required']), { key: this.buyerKey }) }
  }
}

/** The answer with its receipt. Undefined if it is another one than the answer to a payment. */
async function answerTo({ ask, payment }: Sale): Promise<string | undefined> {
  const { status, text, headers } = await ask(payment)
  const isSold = status === 200 && headers['payment-response'] !== undefined
  return isSold ? `${text} ${String(headers['payment-response'])}` : undefined
}

async function inTurns<Item>(items: readonly Item[], work: (item: Item, index: number) => Promise<void>) {
  const left = [...items.entries()]
  const next = async () => {
    for (let item = left.shift(); item; item = left.shift()) await work(item[1], item[0])
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
}

async function sell(machine: Machine, count: number): Promise<Sale[]> {
  const sales: Sale[] = []
  await inTurns(Array.from({ length: count }), async (_, index) => {
    const sale = await machine.order(index)
    const answer = await answerTo(sale)
    if (answer === undefined) throw new Error(`Sale ${index} has no answer`)
    sales.push({ ...sale, answer })
  })
  return sales
}

/** Sends payments and kills the service when some are answered. */
async function sellAndKill(machine: Machine): Promise<Sale[]> {
  const sales: Sale[] = []
  for (let index = 0; index < KILLED; index += 1) sales.push(await machine.order(index))
  const sent = sales.map(async (sale) => {
    const answer = await answerTo(sale).catch(() => undefined)
    if (answer !== undefined) sale.answer = answer
  })
  await Promise.race(sent)
  await machine.stop('SIGKILL')
  await Promise.all(sent)
  return sales
}

/** Repeats each payment until it is answered. Returns how many have the answer of before, and how many a first one. */
async function replay(sales: readonly Sale[]) {
  const counts = { equal: 0, first: 0, different: 0, without: 0 }
  const end = performance.now() + END_MS_MAX
  await inTurns(sales, async (sale) => {
    let answer = await answerTo(sale)
    while (answer === undefined && sale.answer === undefined && performance.now() < end) {
      await sleep(1_000)
      answer = await answerTo(sale)
    }
    const kind = answer === undefined ? 'without' : sale.answer === undefined ? 'first' : undefined
    counts[kind ?? (answer === sale.answer ? 'equal' : 'different')] += 1
    sale.answer ??= answer!
  })
  return counts
}

async function upgrade(former: string, count: number, database: Awaited<ReturnType<typeof openDatabase>> | undefined) {
  const [DATA_DIR, backups, RPC_URL] = [
    await makeTemporaryDirectory(),
    await makeTemporaryDirectory(),
    await testChainUrl(),
  ]
  const own = { DATA_DIR, RPC_URL, PORT: '0', LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '100000' }
  const machine = new Machine({ ...own, ...(database && { RESPONSE_LOG: database.url }) })
  if (database) await machine.run(former, 'migrate')
  await machine.start(former)
  const sales = [...(await sell(machine, count)), ...(await sellAndKill(machine))]
  const known = sales.filter(({ answer }) => answer !== undefined)

  const backup = join(backups, 'before')
  await machine.run(former, 'backup', backup)
  const dump = database && (await database.dump(join(backups, 'dump')))
  if (database) await machine.run(ROOT, 'migrate')
  await machine.start(ROOT)
  const upgraded = await replay(sales)
  await machine.stop()

  for (const folder of ['responses', 'keys']) await rm(join(DATA_DIR, folder), { recursive: true, force: true })
  await machine.run(former, 'restore', backup)
  if (dump) machine.environment['RESPONSE_LOG'] = await dump.restore()
  await machine.start(former)
  const back = await replay(known)
  await machine.stop()

  if (database) await machine.run(ROOT, 'migrate')
  await machine.start(ROOT)
  const again = await replay(known)
  await machine.stop()
  const charged = await tokenOn(RPC_URL).transfers(undefined, await receiverOf(known))
  print(
    `${database ? 'PostgreSQL' : 'LMDB'}: ${count} sales and ${KILLED} at the kill, of which ${known.length - count} answered`,
  )
  print(JSON.stringify({ upgraded, back, again, charged }))
  const isSame = ({ different, without }: typeof back) => different === 0 && without === 0
  return [upgraded, back, again].every(isSame) && charged === sales.length
}

/** From the payment requirements that a payment repeats. */
async function receiverOf([sale]: readonly Sale[]): Promise<string> {
  const { accepted } = JSON.parse(Buffer.from(sale?.payment ?? '', 'base64').toString()) as {
    accepted: { payTo: string }
  }
  return accepted.payTo
}

/** A database with the commands of the drill that copy it. */
async function openDatabase(binaries: string) {
  const server = await startPostgres()
  const url = await server.createDatabase()
  const run = (program: string, ...args: string[]) => promisify(execFile)(join(binaries, program), args)
  return {
    url,
    async dump(file: string) {
      await run('pg_dump', '--format=custom', `--file=${file}`, url)
      return {
        async restore() {
          const restored = await server.createDatabase()
          await run('pg_restore', '--no-owner', '--exit-on-error', `--dbname=${restored}`, file)
          return restored
        },
      }
    },
    stop: () => server.stop(),
  }
}

export async function upgradeDrill({ former = '', sales = String(SALES) }: Record<string, string>): Promise<boolean> {
  const tree = resolve(former)
  let isMet = await upgrade(tree, Number(sales), undefined)
  const binaries = findPostgres()
  if (binaries === undefined) {
    print('PostgreSQL: not measured')
    return isMet
  }
  const database = await openDatabase(binaries)
  try {
    isMet = (await upgrade(tree, Number(sales), database)) && isMet
  } finally {
    await database.stop()
  }
  return isMet
}
