/**
 * The pages that a sale alone writes to a new response log in LMDB. Each page is a `pwrite64`, and each of the two
 * commits writes a short header with a further one. Linux counts the bytes.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { responsesFolder } from '../../../store/files/layout.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import { makeRecord } from '../../support/records.ts'
import type { PerfContext, PerfRow } from './perf-row.ts'

/** An answer of a lookup. */
const BODY = 'x'.repeat(1_100)
const COUNTED = 200
const PAGE_BYTES = 4_096

export async function measureLogWrites({ directory }: PerfContext): Promise<PerfRow[]> {
  const dataDirectory = join(directory, 'log-writes')
  await mkdir(responsesFolder(dataDirectory), { recursive: true })
  const log = new LmdbResponseLog(dataDirectory)
  let made = 0
  const sell = async () => {
    const number = String((made += 1)).padStart(8, '0')
    const time = new Date().toISOString()
    const record = makeRecord({
      identity: `eip155:84532/${number}/${crypto.randomUUID()}`,
      payment_id: number,
      body: BODY,
      prepared_at: time,
      updated_at: time,
    })
    await log.claim(record)
    await log.advance(record, { state: 'settled', payment_response: 'x'.repeat(200), updated_at: time })
  }
  try {
    const before = await writtenBytes()
    for (let sale = 0; sale < COUNTED; sale += 1) await sell()
    return [{ id: 'log writes new', value: ((await writtenBytes()) - before) / COUNTED / PAGE_BYTES }]
  } finally {
    await log.close()
  }
}

/** Of this process, which writes nothing else meanwhile. NaN outside Linux. */
async function writtenBytes(): Promise<number> {
  const text = await readFile('/proc/self/io', 'utf8').catch(() => '')
  return Number(/^wchar: ([0-9]+)$/m.exec(text)?.[1])
}
