/**
 * What a paid lookup's two durable writes take by themselves: in the response log, a claim and the step to `settled` of a
 * record that is as large as a sale's; and beside it in bare LMDB with the same settings, two transactions that write as
 * many bytes and check nothing.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'lmdb'
import type { ResponseRecord } from '../../../store/record.ts'
import type { ResponseLog } from '../../../store/responses.ts'
import { measured, type Measured } from './measured.ts'

/** Of a lookup's. */
const RECORD_BYTES = 3_200

interface Wanted {
  concurrency: number
  durationMs: number
}

export async function measureLog(log: ResponseLog, wanted: Wanted): Promise<Measured> {
  const sold = await aSettledRecord(log)
  return measureEach(() => sellAgain(log, sold), wanted)
}

export async function measureBareLog(wanted: Wanted): Promise<Measured> {
  const path = await mkdtemp(join(tmpdir(), 'bare-log-'))
  const environment = open<Buffer, string>({
    path,
    noSubdir: false,
    overlappingSync: false,
    pageSize: 4096,
    encoding: 'binary',
  })
  const value = Buffer.alloc(RECORD_BYTES, 'x')
  try {
    return await measureEach(async () => {
      const key = aNonce()
      for (const _ of ['prepared', 'settled']) await environment.transaction(() => void environment.put(key, value))
    }, wanted)
  } finally {
    await environment.close()
    await rm(path, { recursive: true })
  }
}

async function measureEach(sale: () => Promise<void>, { concurrency, durationMs }: Wanted): Promise<Measured> {
  const times: number[] = []
  const began = performance.now()
  async function seller(): Promise<void> {
    while (performance.now() - began < durationMs) {
      const start = performance.now()
      await sale()
      times.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, seller))
  return measured(times, performance.now() - began)
}

async function aSettledRecord(log: ResponseLog): Promise<ResponseRecord> {
  for (const identity of await log.unfinished()) {
    const record = await log.read(identity)
    if (record?.state === 'settled') return record
  }
  throw new Error('Nothing has been sold yet')
}

/** Under a nonce of its own. */
async function sellAgain(log: ResponseLog, { payment_response, ...sold }: ResponseRecord): Promise<void> {
  const nonce = aNonce()
  const identity = `${sold.identity.slice(0, -nonce.length)}${nonce}`
  const begun = { ...sold, identity, state: 'prepared', attempt: 1, payment_response: null } as const
  const { claimed } = await log.claim(begun)
  const settled = await log.advance(begun, { state: 'settled', payment_response, updated_at: sold.updated_at })
  if (!claimed || !settled) throw new Error('The log did not take a new record')
}

function aNonce(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')
}
