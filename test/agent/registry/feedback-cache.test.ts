/** The feedback cache: lifetime, shared reads, their cost and circuit breaker. */
import { expect } from 'chai'
import { RegistryError } from '../../../agent/registry/errors.ts'
import { DeadlineError } from '../../../agent/rpc/deadline.ts'
import { ReplyError } from '../../../agent/rpc/post-json.ts'
import type { FeedbackPage, FeedbackQuery } from '../../../agent/registry/reader.ts'
import { FeedbackCache } from '../../../agent/registry/feedback-cache.ts'
import { AddressBudgets, WEIGHTS } from '../../../agent/limits/address-budget.ts'
import { makeClient } from '../../support/clients.ts'
import { neverTimer } from '../../support/registries.ts'

const block = { number: 1, hash: '0x01', timestamp: '2026-01-01T00:00:00.000Z' } as const
const PAGE: FeedbackPage = { block, lastIndex: 0, feedback: [] }

const query = (start: number, limit = 10): FeedbackQuery => ({ client: `0x${'a'.repeat(40)}`, start, limit })

function open() {
  const script = {
    time: 0,
    reads: [] as number[],
    answer: async (): Promise<FeedbackPage> => PAGE,
  }
  const cache = new FeedbackCache({
    reader: {
      page: async ({ start }) => {
        script.reads.push(start)
        return script.answer()
      },
    },
    now: () => new Date(script.time),
    timer: neverTimer,
    report: () => undefined,
  })
  const client = makeClient()
  const kindOf = async (start: number, limit?: number) => (await cache.get(query(start, limit), client)).kind
  return { script, cache, kindOf }
}

const failing = (cause: Error) => (): Promise<FeedbackPage> => Promise.reject(cause)

describe('the feedback cache', () => {
  it('keeps a page for 15 seconds by client, start and limit', async () => {
    const { script, kindOf } = open()
    expect(await kindOf(1)).to.equal('page')
    script.time = 14_999
    expect(await kindOf(1)).to.equal('page')
    expect(script.reads).to.have.lengthOf(1)
    await kindOf(1, 9)
    await kindOf(2)
    expect(script.reads).to.have.lengthOf(3)
    script.time = 15_000
    await kindOf(1)
    expect(script.reads).to.have.lengthOf(4)
  })

  it('does not keep a failure', async () => {
    const { script, kindOf } = open()
    script.answer = failing(new RegistryError('INCONSISTENT'))
    expect(await kindOf(1)).to.equal('unread')
    script.answer = async () => PAGE
    expect(await kindOf(1)).to.equal('page')
  })

  it('reads once for concurrent requests', async () => {
    const { script, kindOf } = open()
    const kinds = await Promise.all(Array.from({ length: 20 }, () => kindOf(1)))
    expect(new Set(kinds)).to.deep.equal(new Set(['page']))
    expect(script.reads).to.have.lengthOf(1)
  })

  it('takes the cost of a read from the budget of the client, and nothing for a cached page', async () => {
    const { script, cache } = open()
    const poor = makeClient('192.0.2.1', new AddressBudgets({ perMinute: 2 * WEIGHTS.remoteCall, clock: () => 0 }))
    for (const start of [1, 1, 2, 2]) expect((await cache.get(query(start), poor)).kind).to.equal('page')
    expect((await cache.get(query(3), poor)).kind).to.equal('busy')
    expect(script.reads).to.deep.equal([1, 2])
    expect((await cache.get(query(3), makeClient('192.0.2.2'))).kind).to.equal('page')
  })

  it('reads 16 pages at once, and the next ones after them', async () => {
    const { script, kindOf } = open()
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    script.answer = async () => released.then(() => PAGE)
    const kinds = Array.from({ length: 20 }, (_, start) => kindOf(start + 1))
    await new Promise(setImmediate)
    expect(script.reads).to.have.lengthOf(16)
    release()
    expect(new Set(await Promise.all(kinds))).to.deep.equal(new Set(['page']))
  })

  it('keeps at most 512 pages', async () => {
    const { script, cache, kindOf } = open()
    for (let start = 1; start <= 600; start += 1) {
      if (start % 10 === 1) script.time += 5_000
      expect(await kindOf(start)).to.equal('page')
      expect(cache.size).to.equal(Math.min(start, 512))
    }
    // The most recent pages remain.
    expect(await kindOf(600)).to.equal('page')
    expect(script.reads).to.have.lengthOf(600)
  })

  it('reads nothing for five seconds after three outages in a row', async () => {
    const { script, kindOf } = open()
    script.answer = failing(new DeadlineError())
    for (const start of [1, 2, 3]) expect(await kindOf(start)).to.equal('unread')
    expect(script.reads).to.have.lengthOf(3)
    script.answer = async () => PAGE
    expect(await kindOf(4)).to.equal('unread')
    script.time = 4_999
    expect(await kindOf(4)).to.equal('unread')
    expect(script.reads).to.have.lengthOf(3)
    script.time = 5_000
    expect(await kindOf(4)).to.equal('page')
  })

  it('opens the circuit breaker again after one more failure, but not after a success', async () => {
    const { script, kindOf } = open()
    const down = failing(new ReplyError('UNREACHABLE'))
    script.answer = down
    for (const start of [1, 2, 3]) await kindOf(start)
    // A new window of five seconds before the read
    script.time += 5_000
    await kindOf(4)
    expect(await kindOf(5)).to.equal('unread')
    expect(script.reads).to.have.lengthOf(4)
    script.answer = async () => PAGE
    script.time += 5_000
    await kindOf(6)
    script.answer = down
    for (const start of [7, 8]) await kindOf(start)
    script.answer = async () => PAGE
    expect(await kindOf(9)).to.equal('page')
  })

  it('does not open the circuit breaker for faults that one client can cause', async () => {
    const { script, kindOf } = open()
    const faults = (['CALL_REFUSED', 'BAD_DATA', 'INCONSISTENT'] as const).map((code) => new RegistryError(code))
    for (const fault of [...faults, new ReplyError('TOO_LARGE')]) {
      script.answer = failing(fault)
      expect(await kindOf(script.reads.length + 1)).to.equal('unread')
    }
    script.answer = async () => PAGE
    expect(await kindOf(100)).to.equal('page')
  })
})
