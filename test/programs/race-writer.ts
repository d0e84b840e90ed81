/**
 * One process of `bench race`: claims and advances records that other processes also use, in batches of up to some
 * hundred calls, until it is killed or the race ends. It writes each acknowledged change to a file at once, as a line
 * of JSON.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { openSync, writeSync } from 'node:fs'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { openConfiguredLog } from '../../agent/service/response-log.ts'
import { isFinal, TRANSITIONS, type RecordState } from '../../store/log/record.ts'
import { StoreError } from '../../store/files/environment.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { makeRecord } from '../support/records.ts'
import { digestOf, type Acknowledged } from '../bench/race/check-log.ts'
import type { RaceTimes } from '../bench/race.ts'

/** The number of payments in use at a time and how long they are used, so that many calls contend for each. */
const GENERATION_MS = 500
const PAYMENTS = 150
/** Fewer ids than payments, so that payments contend for them. */
const PAYMENT_IDS = 40
/** The LMDB thread starts a commit before an event loop turn ends that has about a thousand writes or some MB. */
const CALLS_MAX = 400
const BODY_MAX = 60_000
/** The largest limit of sales that can be configured. */
const SALES_PER_MINUTE = 100_000

// The URL of a log in PostgreSQL is the last argument. The start and the end of the race follow as a message.
const [dataDirectory = '', path = '', responseLog] = process.argv.slice(2)
const file = openSync(path, 'a')
// If the parent is killed, no message comes.
const exit = () => process.exit()
process.once('disconnect', exit)
const log = await openLog()
const message = once(process, 'message')
process.send?.('open')
const [{ began, ends }] = (await message) as [RaceTimes]
process.off('disconnect', exit)
process.disconnect()

/** Retries while the killed PostgreSQL server restarts. */
async function openLog(): Promise<ResponseLog> {
  for (;;) {
    try {
      return await openConfiguredLog({ config: { dataDirectory, responseLog }, salesPerMinute: SALES_PER_MINUTE })
    } catch (cause) {
      if (!isServerKilled(cause)) throw cause
    }
  }
}

function isServerKilled(cause: unknown): boolean {
  return responseLog !== undefined && cause instanceof StoreError
}

const below = (limit: number) => Math.floor(Math.random() * limit)
const oneIn = (count: number) => below(count) === 0

function acknowledge(what: Acknowledged): void {
  writeSync(file, `${JSON.stringify(what)}\n`)
}

async function claim(identity: string, paymentId: string): Promise<void> {
  const body = `${randomUUID()} ${'x'.repeat(oneIn(50) ? below(BODY_MAX) : below(2_000))}`
  const hasId = oneIn(3)
  const claimed = await log.claim(makeRecord({ identity, body, ...(hasId && { payment_id: paymentId }) }))
  // More sales than a minute allows.
  if (claimed.kind === 'full') return
  const wanted = { identity, ...(hasId && { paymentId }) }
  acknowledge(
    claimed.kind === 'claimed'
      ? { kind: 'claimed', ...wanted, digest: digestOf(body) }
      : { kind: 'held', ...wanted, holder: claimed.record.identity },
  )
}

async function advance(identity: string): Promise<void> {
  const record = await log.read(identity)
  if (!record || isFinal(record.state)) return
  const states: readonly RecordState[] = TRANSITIONS[record.state]
  async function step(): Promise<void> {
    const change = {
      state: states[below(states.length)] ?? 'unknown',
      attempt: (record?.attempt ?? 0) + 1,
      payment_response: randomUUID(),
      updated_at: new Date().toISOString(),
    }
    const moved = record && (await log.advance(record, change))
    if (moved) acknowledge({ kind: 'advanced', identity, ...change })
  }
  await Promise.all(Array.from({ length: 1 + below(3) }, step))
}

async function call(): Promise<void> {
  if (oneIn(5)) await setImmediate()
  const generation = Math.floor((Date.now() - began) / GENERATION_MS)
  const identity = `${generation}/${below(PAYMENTS)}`
  const work = oneIn(2) ? claim(identity, `${generation} id ${below(PAYMENT_IDS)}`) : advance(identity)
  await work.catch((cause: unknown) => {
    // The server of PostgreSQL was killed. The change is not acknowledged, and may have been made.
    if (!isServerKilled(cause)) throw cause
  })
}

while (Date.now() < ends) {
  await Promise.all(Array.from({ length: 1 + below(oneIn(4) ? CALLS_MAX : CALLS_MAX / 10) }, call))
  if (oneIn(3)) await sleep(below(5))
}
await log.close()
