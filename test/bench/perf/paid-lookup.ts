/**
 * A lookup with a new payment, with the response log in LMDB and in PostgreSQL, beside `@x402/express` with the same
 * facilitator. Facilitator and chain node are in another process and are called over HTTP.
 */
import { join } from 'node:path'
import { startService } from '../load/server-process.ts'
import { startDatabase } from '../log-kind.ts'
import type { PerfRowId } from '../targets.ts'
import { compareRounds, measureRounds, SERVICE, serviceEnvironment, STOCK, type HttpBench } from './http-rounds.ts'
import type { PerfContext, PerfRow } from './perf-row.ts'
import { measureReceipt } from './receipt.ts'
import { measureWrites } from './writes.ts'

const ON_POSTGRES = 'service on PostgreSQL'

const ROWS = { [SERVICE]: 'paid', [ON_POSTGRES]: 'postgres' } as const

export async function measurePaidLookup(bench: HttpBench, context: PerfContext): Promise<PerfRow[]> {
  const { size, directory } = context
  await using database = await startDatabase()
  const environment = serviceEnvironment(join(directory, 'served-postgres'), bench)
  await using onPostgres = await startService(ON_POSTGRES, { ...environment, RESPONSE_LOG: database.url })
  const servers = new Map([...bench.servers, [ON_POSTGRES, onPostgres]])
  const sides = { [SERVICE]: { server: SERVICE }, [ON_POSTGRES]: { server: ON_POSTGRES }, [STOCK]: { server: STOCK } }
  const options = { workload: 'paid lookup', size, sides } as const
  const alone = await measureRounds({ ...bench, servers }, { ...options, connections: 1 })
  const many = await measureRounds({ ...bench, servers }, { ...options, connections: 64 })
  const rows = Object.entries(ROWS).flatMap(([side, prefix]) => {
    const row = (unit: 'p50' | 'cpu' | 'rate') => ({
      id: `${prefix} ${unit}` satisfies PerfRowId,
      side,
      baseline: STOCK,
    })
    return [
      compareRounds(alone, { ...row('p50'), pick: ({ p50 }) => p50 }),
      compareRounds(many, { ...row('cpu'), pick: ({ cpuMicroseconds }) => cpuMicroseconds }),
      compareRounds(many, { ...row('rate'), pick: ({ rate }) => rate }),
    ]
  })
  const cpu = rows.find(({ id }) => id === 'paid cpu')?.value ?? Number.NaN
  const p50 = rows.find(({ id }) => id === 'paid p50')?.value ?? Number.NaN
  return [...rows, await measureWrites(bench, context, p50), ...(await measureReceipt(bench, size, cpu))]
}
