/**
 * `bench upgrade --former TREE [--sales N]`: the built service of a former version sells every operation over every
 * transport and is killed during sales. The upgrade, the rollback and the next upgrade of docs/operations/drills.md
 * follow, with LMDB and with PostgreSQL. Each sale replays byte for byte, and no payment is charged twice.
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
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { SAMPLE_SHOWCASE } from '../support/sample/showcase.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { tokenOn } from '../support/token.ts'
import { requestOverTransports, type Ask, type Operation } from '../support/transports.ts'
import { print } from './report.ts'

/** Sales in progress when the process is killed. */
const KILLED = 30
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

/** A payment, and its first answer with the receipt. */
interface Sale {
  ask: Ask
  payment: string
  answer?: string
}

async function upgrade(former: string, count: number, server: PostgresServer | undefined): Promise<boolean> {
  const [DATA_DIR, backups] = [await makeTemporaryDirectory(), await makeTemporaryDirectory()]
  const RPC_URL = await testChainUrl()
  const environment: Record<string, string> = { DATA_DIR, RPC_URL, PORT: '0', RATE_LIMIT_PER_MINUTE: '100000' }
  let [url, key] = ['', '' as `0x${string}`]
  let service: Child | undefined
  const { rest, a2a, mcp } = requestOverTransports(() => ({ url }))

  const run = async (tree: string, ...args: string[]) => {
    const child = startChild(join(tree, 'dist/agent/main.js'), args, environment)
    if ((await child.ended) !== 0) throw new Error(`${args.join(' ')}: ${child.stderr()}`)
  }
  const start = async (tree: string) => {
    if (server) await run(tree, 'migrate')
    service = startChild(join(tree, 'dist/agent/main.js'), ['serve'], environment)
    url = await ready(service)
    key = service.said.get('buyer') as `0x${string}`
  }
  const stop = async (signal: NodeJS.Signals) => {
    service?.process.kill(signal)
    await service?.ended
  }
  const order = async (index: number): Promise<Sale> => {
    const operation = OPERATIONS[index % OPERATIONS.length]!
    const transport = [rest, mcp, (asked: Operation, payment?: string) => a2a(asked, payment, index)][index % 3]!
    const ask: Ask = (payment) => transport(operation, payment)
    return { ask, payment: await signQuote(String((await ask()).headers['payment-required']), { key }) }
  }

  if (server) environment['RESPONSE_LOG'] = await server.createDatabase()
  await start(former)
  const sales: Sale[] = []
  for (let index = 0; index < count; index += 1) sales.push(await sold(await order(index)))
  const last: Sale[] = []
  for (let index = 0; index < KILLED; index += 1) last.push(await order(index))
  const sent = last.map((sale) => sold(sale).catch(() => sale))
  await Promise.race(sent)
  await stop('SIGKILL')
  sales.push(...(await Promise.all(sent)))
  const known = sales.filter(({ answer }) => answer !== undefined)

  await run(former, 'backup', join(backups, 'before'))
  const restoreDump = server && (await dump(environment['RESPONSE_LOG'] ?? '', join(backups, 'dump'), server))
  const results = []
  for (const [tree, replayed] of [
    [ROOT, sales],
    [former, known],
    [ROOT, known],
  ] as const) {
    if (tree === former) {
      for (const folder of ['responses', 'keys']) await rm(join(DATA_DIR, folder), { recursive: true, force: true })
      await run(former, 'restore', join(backups, 'before'))
      if (restoreDump) environment['RESPONSE_LOG'] = await restoreDump()
    }
    await start(tree)
    results.push(await replay(replayed))
    await stop('SIGTERM')
  }
  const { accepted } = JSON.parse(Buffer.from(sales[0]!.payment, 'base64').toString()) as {
    accepted: { payTo: string }
  }
  const charged = await tokenOn(RPC_URL).transfers(undefined, accepted.payTo)
  const [kind, killed] = [server ? 'PostgreSQL' : 'LMDB', known.length - count]
  print(`${kind}: ${count} sales, and ${KILLED} at the kill, of which ${killed} were answered; ${charged} transfers`)
  print(`upgrade, rollback, upgrade: ${JSON.stringify(results)}`)
  return results.every(({ different }) => different === 0) && charged === sales.length
}

/** Sends a payment. */
async function sold(sale: Sale): Promise<Sale> {
  const answer = await answerTo(sale)
  if (answer === undefined) throw new Error('A payment has no answer')
  return Object.assign(sale, { answer })
}

async function answerTo({ ask, payment }: Sale): Promise<string | undefined> {
  const { status, text, headers } = await ask(payment)
  const receipt = headers['payment-response']
  return status === 200 && receipt !== undefined ? `${text} ${String(receipt)}` : undefined
}

/** Repeats payments. One without an answer is repeated until it has its first. */
async function replay(sales: readonly Sale[]) {
  const counts = { equal: 0, first: 0, different: 0 }
  const end = performance.now() + END_MS_MAX
  for (const sale of sales) {
    let answer = await answerTo(sale)
    for (; answer === undefined && performance.now() < end; answer = await answerTo(sale)) await sleep(1_000)
    const isEqual = answer !== undefined && answer === (sale.answer ?? answer)
    counts[!isEqual ? 'different' : sale.answer === undefined ? 'first' : 'equal'] += 1
    if (answer !== undefined) sale.answer ??= answer
  }
  return counts
}

/** Copies a database, and restores the copy as a new one. */
async function dump(url: string, file: string, server: PostgresServer) {
  const run = (program: string, ...args: string[]) => promisify(execFile)(join(findPostgres() ?? '', program), args)
  await run('pg_dump', '--format=custom', `--file=${file}`, url)
  return async () => {
    const restored = await server.createDatabase()
    await run('pg_restore', '--no-owner', '--exit-on-error', `--dbname=${restored}`, file)
    return restored
  }
}

export async function upgradeDrill({ former = '', sales = '300' }: Record<string, string>): Promise<boolean> {
  const isKept = await upgrade(resolve(former), Number(sales), undefined)
  const server = findPostgres() === undefined ? undefined : await startPostgres()
  try {
    return (server === undefined || (await upgrade(resolve(former), Number(sales), server))) && isKept
  } finally {
    await server?.stop()
  }
}
