/** Pages are kept for a moment, read once for all who ask, few at a time, and not at all from an RPC that is down. */
import { expect } from 'chai'
import { RegistryError } from '../../../agent/registry/errors.ts'
import type { Page, PageQuery } from '../../../agent/registry/reader.ts'
import { ReputationPages } from '../../../agent/registry/reputation.ts'
import { never } from '../../support/registries.ts'

const block = { number: 1, hash: '0x01', timestamp: '2026-01-01T00:00:00.000Z' } as const
const PAGE: Page = { block, lastIndex: 0, feedback: [] }

const query = (start: number, limit = 10): PageQuery => ({ client: `0x${'a'.repeat(40)}`, start, limit })

function open() {
  const script = {
    time: 0,
    reads: [] as number[],
    answer: async (): Promise<Page> => PAGE,
  }
  const pages = new ReputationPages({
    reader: {
      page: async ({ start }) => {
        script.reads.push(start)
        return script.answer()
      },
    },
    now: () => new Date(script.time),
    timer: never,
    report: () => undefined,
  })
  const kindOf = async (start: number, limit?: number) => (await pages.get(query(start, limit))).kind
  return { script, pages, kindOf }
}

/** Fills no window: reads go ten to five seconds. */
async function inPeace(script: { time: number }, work: () => Promise<unknown>) {
  script.time += 5_000
  await work()
}

describe('the pages of feedback', () => {
  it('are kept for 15 seconds, each by client, start and limit', async () => {
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

  it('are not kept when they could not be read', async () => {
    const { script, kindOf } = open()
    script.answer = async () => {
      throw new RegistryError('INCONSISTENT')
    }
    expect(await kindOf(1)).to.equal('unread')
    script.answer = async () => PAGE
    expect(await kindOf(1)).to.equal('page')
  })

  it('are read once for everyone who asks meanwhile', async () => {
    const { script, kindOf } = open()
    const kinds = await Promise.all(Array.from({ length: 20 }, () => kindOf(1)))
    expect(new Set(kinds)).to.deep.equal(new Set(['page']))
    expect(script.reads).to.have.lengthOf(1)
  })

  it('are read four at once and ten in five seconds', async () => {
    const { script, kindOf } = open()
    const kinds = await Promise.all([1, 2, 3, 4, 5].map((start) => kindOf(start)))
    expect(kinds).to.deep.equal(['page', 'page', 'page', 'page', 'busy'])
    for (const start of [11, 12, 13, 14, 15, 16]) expect(await kindOf(start)).to.equal('page')
    expect(await kindOf(17)).to.equal('busy')
    // What is kept is still there.
    expect(await kindOf(16)).to.equal('page')
    script.time = 4_999
    expect(await kindOf(17)).to.equal('busy')
    script.time = 5_000
    expect(await kindOf(17)).to.equal('page')
  })

  it('are 512 in memory at most', async () => {
    const { script, pages, kindOf } = open()
    for (let start = 1; start <= 600; start += 1) {
      if (start % 10 === 1) script.time += 5_000
      expect(await kindOf(start)).to.equal('page')
      expect(pages.held).to.equal(Math.min(start, 512))
    }
    // The newest are those that are left.
    expect(await kindOf(600)).to.equal('page')
    expect(script.reads).to.have.lengthOf(600)
  })

  it('are left alone for five seconds after three outages in a row', async () => {
    const { script, kindOf } = open()
    script.answer = async () => {
      throw new RegistryError('LATE')
    }
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

  it('rest again after one more failure, and not after a success between', async () => {
    const { script, kindOf } = open()
    const down = async (): Promise<Page> => {
      throw new RegistryError('UNREACHABLE')
    }
    script.answer = down
    for (const start of [1, 2, 3]) await kindOf(start)
    await inPeace(script, () => kindOf(4))
    expect(await kindOf(5)).to.equal('unread')
    expect(script.reads).to.have.lengthOf(4)
    script.answer = async () => PAGE
    await inPeace(script, () => kindOf(6))
    script.answer = down
    for (const start of [7, 8]) await kindOf(start)
    script.answer = async () => PAGE
    expect(await kindOf(9)).to.equal('page')
  })

  it('of one client that cannot be read keep nobody else from his', async () => {
    const { script, kindOf } = open()
    for (const code of ['TOO_LARGE', 'CALL_REFUSED', 'BAD_DATA', 'INCONSISTENT'] as const) {
      script.answer = async () => {
        throw new RegistryError(code)
      }
      expect(await kindOf(script.reads.length + 1)).to.equal('unread')
    }
    script.answer = async () => PAGE
    expect(await kindOf(100)).to.equal('page')
  })
})
