/**
 * The response log by itself, as a part of what a paid lookup takes: a claim and the step to `settled`, both durable, of a
 * record that is as large as a sale's.
 */
import type { ResponseLog, ResponseRecord } from '../../../store/responses.ts'
import { measured, type Measured } from './measured.ts'

interface Wanted {
  concurrency: number
  durationMs: number
}

export async function measureLog(log: ResponseLog, { concurrency, durationMs }: Wanted): Promise<Measured> {
  const sold = await aSettledRecord(log)
  const times: number[] = []
  const began = performance.now()
  async function seller(): Promise<void> {
    while (performance.now() - began < durationMs) {
      const start = performance.now()
      await sellAgain(log, sold)
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
  const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')
  const identity = `${sold.identity.slice(0, -nonce.length)}${nonce}`
  const begun = { ...sold, identity, state: 'prepared', attempt: 1, payment_response: null } as const
  const { claimed } = await log.claim(begun)
  const settled = await log.advance(begun, { state: 'settled', payment_response, updated_at: sold.updated_at })
  if (!claimed || !settled) throw new Error('The log did not take a new record')
}
