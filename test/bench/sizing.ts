/**
 * `bench sizing [--rows N] [--sales N]`: disk and memory that a deployment needs. Sales of each operation by the real
 * service give sample records. Copies with random nonces then pass through the states of a sale in each response log.
 * Last it measures how many payments a second the reconciler confirms, and what bounds it.
 */
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { paymentIdentity } from '../../agent/payment/binding.ts'
import { parsePaymentHeaders } from '../../agent/payment/headers.ts'
import { responsesFolder } from '../../store/files/layout.ts'
import { openPostgresResponseLog } from '../../store/log/postgres/responses.ts'
import type { ResponseRecord } from '../../store/log/record.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { findPostgres } from '../support/postgres.ts'
import { withPool } from '../../store/log/postgres/connection.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { measureConfirmations } from './confirmations.ts'
import { diskMib } from './disk.ts'
import { makeRegister, readCorpus } from './generated-register.ts'
import { sendLoad, type LoadRequest } from './load/client.ts'
import { residentMemory, startService, startRemotes, type ServerProcess } from './load/server-process.ts'
import { WORKLOADS, type WorkloadName } from './load/workloads.ts'
import { startDatabase } from './database.ts'
import { serviceEnvironment } from './perf/http-rounds.ts'
import { describeMachine, markdown, print } from './report.ts'

/** With the share of the sales that are stored: a batch takes many times the disk of another sale. */
const OPERATIONS = {
  'paid lookup': 1,
  resolve: 1,
  search: 1,
  'batch of 100 lookups': 0.1,
} satisfies Partial<Record<WorkloadName, number>>
type SizedOperation = keyof typeof OPERATIONS
/** A little above what 3,000 companies and 200 sales give; more give less. PostgreSQL varies too much for a limit. */
const MIB_MAX: Record<string, number> = { 'one snapshot': 540, 'LMDB, paid lookup': 10_000, 'LMDB, search': 15_000 }
const SAMPLES = 20
/** As many sales as a busy service has in progress. */
const SALES_AT_ONCE = 32
/** The tenths after which PostgreSQL vacuums; by default it does so when a fifth of the rows is dead. */
const VACUUMS = 10
const MILLION = 1e6
const MIB = 2 ** 20

type Row = readonly [what: string, per: string, mib: number]

export async function sizing({ rows = '1000000', sales = '10000' }: Record<string, string>): Promise<boolean> {
  const directory = await makeTemporaryDirectory()
  const { measured, samples } = await measureDataset(Number(rows), directory)
  for (const [operation, records] of samples) {
    const folder = join(directory, operation)
    const count = Math.ceil(Number(sales) * OPERATIONS[operation])
    measured.push([`LMDB, ${operation}`, 'million sales', await measureLmdb(folder, records, count)])
    if (findPostgres() !== undefined) measured.push(...(await measurePostgres(operation, records, count)))
  }
  const rates = await measureRates(directory, samples.get('paid lookup')?.[0] as ResponseRecord, Number(sales))
  const lines = measured.map(([what, per, mib]) => [what, per, mib.toFixed(0), MIB_MAX[what]?.toString() ?? '-'])
  const table = markdown(['what', 'per', 'MiB', 'at most'], lines)
  print(`${describeMachine()}; a register of ${rows} companies\n\n${table}\n`)
  print(`${markdown(['confirmed payments', 'a second', 'bound by'], rates)}\n`)
  const missed = measured.filter(([what, , mib]) => !(mib > 0 && mib <= (MIB_MAX[what] ?? Infinity)))
  print(`${sales} sales of each operation in each log, scaled to a million: ${missed.length} sizes missed`)
  return missed.length === 0
}

/** Confirmations by a node that answers after 50 ms, with each response log. */
async function measureRates(directory: string, sample: ResponseRecord, count: number) {
  const measure = async (name: string, log: ResponseLog) => {
    const { perSecond, bound } = await measureConfirmations(log, sample, count)
    await log.close()
    return [name, perSecond.toFixed(0), bound]
  }
  const rates = [await measure('LMDB', new LmdbResponseLog(join(directory, 'confirmations')))]
  if (findPostgres() === undefined) return rates
  await using database = await startDatabase()
  const options = { url: database.url, report: () => undefined }
  return [...rates, await measure('PostgreSQL', await openPostgresResponseLog(options))]
}

/** Imports a register, and buys from a service that serves it. */
async function measureDataset(rows: number, directory: string) {
  const { archive, dataDirectory: data, cost } = await makeRegister(directory, rows)
  const snapshot = await diskMib(join(data, 'snapshots'))
  await using remotes = await startRemotes()
  const environment = serviceEnvironment(data, { dataset: archive, remotes: remotes.url })
  await using service = await startService('service', environment)
  const corpus = await readCorpus(data)
  const samples = new Map<SizedOperation, ResponseRecord[]>()
  for (const operation of Object.keys(OPERATIONS) as SizedOperation[])
    samples.set(operation, await buy(service, WORKLOADS[operation].build(corpus, SAMPLES), data))
  const measured: Row[] = [
    ['archive of the register', 'million companies', (statSync(archive).size / MIB / rows) * MILLION],
    ['one snapshot', 'million companies', (snapshot / rows) * MILLION],
    ['peak memory of an import', 'process', cost.memory],
    ['resident memory of the service, with mapped files', 'process', residentMemory(service.child.pid)],
    ['resident memory of the service, anonymous', 'process', residentMemory(service.child.pid, 'RssAnon')],
  ]
  return { measured, samples }
}

/** @returns the records of some sales */
async function buy(service: ServerProcess, requests: LoadRequest[], data: string): Promise<ResponseRecord[]> {
  await sendLoad(service, { requests, connections: 1, usesRemotes: true })
  const log = new LmdbResponseLog(data, { readOnly: true })
  try {
    return await Promise.all(requests.map((request) => readRecord(log, request)))
  } finally {
    await log.close()
  }
}

async function readRecord(log: ResponseLog, { path, headers }: LoadRequest): Promise<ResponseRecord> {
  const payment = parsePaymentHeaders([headers?.['PAYMENT-SIGNATURE'] ?? ''])
  const record = payment.kind === 'payment' ? await log.read(paymentIdentity(payment.payment)) : undefined
  if (!record) throw new Error(`${path} has no record`)
  return record
}

async function measureLmdb(directory: string, samples: ResponseRecord[], sales: number): Promise<number> {
  const log = new LmdbResponseLog(directory)
  await sell(log, samples, sales)
  await log.close()
  return ((await diskMib(responsesFolder(directory))) / sales) * MILLION
}

async function measurePostgres(operation: string, samples: ResponseRecord[], sales: number): Promise<Row[]> {
  await using database = await startDatabase()
  const log = await openPostgresResponseLog({ url: database.url, report: () => undefined })
  const query = (sql: string) =>
    withPool(database.url, async (pool) => Number((await pool.query<{ value: string }>(sql)).rows[0]?.value))
  const written = "select pg_current_wal_lsn() - '0/0' as value"
  const before = await query(written)
  for (let part = 0; part < VACUUMS; part += 1) {
    await sell(log, samples, Math.ceil(sales / VACUUMS))
    await withPool(database.url, (pool) => pool.query('vacuum responses, records'))
  }
  await log.close()
  const scaled = (bytes: number) => (bytes / MIB / sales) * MILLION
  const table = await query("select pg_total_relation_size('responses') + pg_total_relation_size('records') as value")
  return [
    [`PostgreSQL, ${operation}`, 'million sales', scaled(table)],
    [`PostgreSQL, write-ahead log, ${operation}`, 'million sales', scaled((await query(written)) - before)],
  ]
}

/** Stores copies of the samples. Each takes the states of a sale, one write each. */
async function sell(log: ResponseLog, samples: ResponseRecord[], sales: number): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: SALES_AT_ONCE }, async () => {
      while (next < sales) {
        const sample = samples[next % samples.length] as ResponseRecord
        next += 1
        await storeSale(log, sample)
      }
    }),
  )
}

async function storeSale(log: ResponseLog, sample: ResponseRecord): Promise<void> {
  const { receipt, payment_response, updated_at, ...rest } = sample
  const nonce = `0x${randomBytes(32).toString('hex')}`
  const payer = sample.identity.slice(0, sample.identity.lastIndexOf('/'))
  const prepared = {
    ...rest,
    identity: `${payer}/${nonce}`,
    ...(rest.payment_id !== undefined && { payment_id: `${payer.slice(payer.lastIndexOf('/') + 1)}/pay_${nonce}` }),
    state: 'prepared',
    payment_response: null,
    updated_at,
  } as const
  await log.claim(prepared)
  const settled = await log.advance(prepared, { state: 'settled', payment_response, receipt, updated_at })
  if (!settled || !(await log.advance(settled, { state: 'confirmed', updated_at }))) throw new Error('A write was lost')
}
