/**
 * The two durable writes of a sale without the rest of it: the record before the payment is settled, and its outcome before
 * the answer is sent. No sale can be faster, because each waits for the disk.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { openResponseLog } from '../../../store/log/responses.ts'
import { makeRecord } from '../../support/records.ts'
import { WORKLOADS } from '../load/workloads.ts'
import { median } from '../statistics.ts'
import type { HttpBench } from './http-rounds.ts'
import { withBaseline, type PerfContext, type PerfRow } from './perf-row.ts'
import { buyAnswer } from './receipt.ts'

/** @param paidMilliseconds p50 of a paid lookup alone in the same run */
export async function measureWrites(
  bench: HttpBench,
  { size, directory }: PerfContext,
  paidMilliseconds: number,
): Promise<PerfRow> {
  const body = await buyAnswer(bench)
  const log = openResponseLog(join(directory, 'writes'))
  const sale = async () => {
    const record = makeRecord({ body, nonce: `0x${randomBytes(32).toString('hex')}` })
    const began = performance.now()
    await log.claim(record)
    const settled = await log.advance(record, {
      state: 'settled',
      updated_at: record.updated_at,
      payment_response: 'e30=',
    })
    if (!settled) throw new Error('A record was not settled')
    return performance.now() - began
  }
  try {
    const times: number[] = []
    const count = Math.ceil(WORKLOADS['paid lookup'].requests * size.requestShare) * size.rounds
    for (let made = 0; made < count; made += 1) times.push(await sale())
    return withBaseline('paid writes', median(times), { name: 'paid lookup', value: paidMilliseconds })
  } finally {
    await log.close()
  }
}
