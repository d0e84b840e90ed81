/**
 * A lookup with a new payment: with the response log in LMDB beside a quote, and in PostgreSQL beside LMDB. Then the
 * receipt of a lookup in process (digest of the answer, claims and signature) beside a whole paid lookup and beside the
 * same receipt signed by jose.
 */
import { CompactSign } from 'jose'
import { join } from 'node:path'
import { RECEIPT_ALGORITHM, RECEIPT_TYPE, type ReceiptClaims } from '../../../agent/payment/receipt/claims.ts'
import { signReceipt } from '../../../agent/payment/receipt/sign.ts'
import { receiptFor } from '../../../agent/settlement/receipts.ts'
import type { ResponseRecord } from '../../../store/log/record.ts'
import { makeRecord } from '../../support/records.ts'
import { makeReceiptKey, type TestKey } from '../../support/signed-receipt.ts'
import { startService } from '../load/server-process.ts'
import { WORKLOADS } from '../load/workloads.ts'
import { startDatabase } from '../database.ts'
import { median } from '../statistics.ts'
import {
  compareRounds,
  cpu,
  measureRounds,
  p50,
  rate,
  SERVICE,
  serviceEnvironment,
  type HttpBench,
} from './http-rounds.ts'
import { withBaseline, type PerfContext, type PerfRow } from './perf-row.ts'

const ON_POSTGRES = 'service on PostgreSQL'
const QUOTE = 'quote'
/** At every size: they take two seconds, and with fewer the compiler's warm-up decides. */
const [RECEIPT_ROUNDS, RECEIPTS_PER_ROUND] = [21, 400]
const TRANSACTION = `0x${'ab'.repeat(32)}`

export async function measurePaidLookup(bench: HttpBench, { size, directory }: PerfContext): Promise<PerfRow[]> {
  await using database = await startDatabase()
  const environment = serviceEnvironment(join(directory, 'served-postgres'), bench)
  await using onPostgres = await startService(ON_POSTGRES, { ...environment, RESPONSE_LOG: database.url })
  const servers = new Map([...bench.servers, [ON_POSTGRES, onPostgres]])
  const sides = {
    [SERVICE]: { server: SERVICE },
    [ON_POSTGRES]: { server: ON_POSTGRES },
    [QUOTE]: { server: SERVICE, workload: 'quote' },
  } as const
  const options = { workload: 'paid lookup', size, sides } as const
  const alone = await measureRounds({ ...bench, servers }, { ...options, connections: 1 })
  const many = await measureRounds({ ...bench, servers }, { ...options, connections: 64 })
  // A node that does not show a transfer makes the service settle it again, which costs more than a sale.
  const repeated = await (await fetch(`${bench.remotes}/repeated`)).text()
  if (repeated !== '0') throw new Error(`${repeated} payments were settled again`)
  const rowsOf = (side: string, prefix: 'paid' | 'postgres', baseline: string) => [
    compareRounds(alone, { id: `${prefix} p50`, side, baseline, pick: p50 }),
    compareRounds(many, { id: `${prefix} cpu`, side, baseline, pick: cpu }),
    compareRounds(many, { id: `${prefix} rate`, side, baseline, pick: rate }),
  ]
  const rows = [...rowsOf(SERVICE, 'paid', QUOTE), ...rowsOf(ON_POSTGRES, 'postgres', SERVICE)]
  const paidCpu = rows.find(({ id }) => id === 'paid cpu')?.value ?? Number.NaN
  return [...rows, ...(await measureReceipt(bench, paidCpu))]
}

const signWithJose = (claims: ReceiptClaims, { kid, privateKey }: TestKey) =>
  new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: RECEIPT_ALGORITHM, typ: RECEIPT_TYPE, kid })
    .sign(privateKey)

/** @param paidMicroseconds CPU time of one paid lookup in the same run */
async function measureReceipt(bench: HttpBench, paidMicroseconds: number): Promise<PerfRow[]> {
  const record = makeRecord({
    body: await buyAnswer(bench),
    operation: { operation: 'lookup', input: { company_number: bench.corpus.companyNumbers[0] } },
  })
  const key = await makeReceiptKey()
  const sides = [issuerOf(record, async (claims) => signReceipt(claims, key))]
  sides.push(issuerOf(record, (claims) => signWithJose(claims, key)))
  const [microseconds = Number.NaN, joseMicroseconds = Number.NaN] = await measureInTurn(sides)
  return [
    withBaseline('receipt cpu', microseconds, { name: 'paid lookup', value: paidMicroseconds }),
    withBaseline('receipt jose', microseconds, { name: 'signed by jose', value: joseMicroseconds }),
  ]
}

function issuerOf(record: ResponseRecord, sign: (claims: ReceiptClaims) => Promise<string>): () => Promise<unknown> {
  const services = { signReceipt: sign, now: () => new Date(), report: () => undefined }
  return () => receiptFor(services as unknown as Parameters<typeof receiptFor>[0], record, TRANSACTION)
}

/** In turn, because the speed of a machine changes. @returns microseconds of CPU for each receipt of each side */
async function measureInTurn(sides: readonly (() => Promise<unknown>)[]): Promise<number[]> {
  const rounds: number[][] = sides.map(() => [])
  for (let round = 0; round < RECEIPT_ROUNDS; round += 1)
    for (const [at, issue] of sides.entries()) {
      const before = process.cpuUsage()
      for (let made = 0; made < RECEIPTS_PER_ROUND; made += 1)
        if ((await issue()) === undefined) throw new Error('No receipt was made')
      const { user, system } = process.cpuUsage(before)
      rounds[at]?.push((user + system) / RECEIPTS_PER_ROUND)
    }
  return rounds.map(median)
}

async function buyAnswer({ servers, corpus }: HttpBench): Promise<string> {
  const [request] = WORKLOADS['paid lookup'].build(corpus, 1)
  const response = await fetch(`${servers.get(SERVICE)?.url}${request?.path}`, { headers: request?.headers ?? {} })
  if (response.status !== 200) throw new Error(`A lookup got ${response.status}`)
  return response.text()
}
