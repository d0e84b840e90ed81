/**
 * The pages that a sale alone writes to the response log in LMDB, in a new log and in one with many records. Each page
 * is a `pwrite64`, and each of the two commits writes a short header with a further one. Linux counts the bytes.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { responsesFolder } from '../../../store/files/layout.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import { makeRecord } from '../../support/records.ts'
import type { PerfContext, PerfRow } from './perf-row.ts'

/** An answer of a lookup. */
const BODY = 'x'.repeat(1_100)
const RECORDS = 100_000
/** One transaction has several of the sales that are made at once. */
const AT_ONCE = 500
const COUNTED = 200
const PAGE_BYTES = 4_096

export async function measureLogWrites({ size, directory }: PerfContext): Promise<PerfRow[]> {
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
  const countPages = async () => {
    const before = await writtenBytes()
    for (let sale = 0; sale < COUNTED; sale += 1) await sell()
    return ((await writtenBytes()) - before) / COUNTED / PAGE_BYTES
  }
  try {
    const fresh = await countPages()
    while (made < RECORDS * size.requestShare) await Promise.all(Array.from({ length: AT_ONCE }, sell))
    return [
      { id: 'log writes new', value: fresh },
      { id: 'log writes many', value: await countPages() },
    ]
  } finally {
    await log.close()
  }
}

/** Of this process, which writes nothing else meanwhile. NaN outside Linux. */
async function writtenBytes(): Promise<number> {
  const text = await readFile('/proc/self/io', 'utf8').catch(() => '')
  return Number(/^wchar: ([0-9]+)$/m.exec(text)?.[1])
}
