/** The search of block ranges on nodes with limits. */
import { expect } from 'chai'
import { RANGES_MAX, RangeSearch, type BlockRange } from '../../../../agent/settlement/chain/search-block-ranges.ts'
import { RateLimited, ReplyError } from '../../../../agent/settlement/rpc/post-json.ts'
import { RpcError } from '../../../../agent/settlement/rpc/json-rpc.ts'

const FROM = 1_000n
const TOO_MANY = new RpcError({ code: -32_005, message: 'too many blocks' })

describe('the search of block ranges', () => {
  let ranges: BlockRange[]
  let search: RangeSearch

  beforeEach(() => {
    ranges = []
    search = new RangeSearch()
  })

  interface Question {
    event?: bigint
    to: bigint
    /** The node allows so many blocks per call. */
    limit?: bigint
    /** What the node throws for a longer range. */
    refusal?: Error
  }
  /** Searches for an event in a block. */
  const find = ({ event = -1n, to, limit = 10_000n, refusal = TOO_MANY }: Question) =>
    search.find({
      key: 'nonce',
      from: FROM,
      to,
      read: async (range) => {
        ranges.push(range)
        if (range.to - range.from >= limit) throw refusal
        return range.from <= event && event <= range.to ? event : undefined
      },
    })
  const sizeOf = ({ from, to }: BlockRange) => to - from + 1n

  for (const limit of [1n, 10n, 999n, 1_000n, 1_001n]) {
    it(`finds an event on a node that allows ${limit} blocks per call, in several calls if needed`, async () => {
      const event = FROM + 63n
      let found: bigint | undefined
      let calls = 0
      while (found === undefined && calls < 10) {
        ranges.length = 0
        found = await find({ event, to: FROM + 2_000n, limit })
        calls += 1
        expect(ranges.length).to.be.at.most(RANGES_MAX)
      }
      expect(found).to.equal(event)
      expect(calls).to.equal(limit === 1n ? 4 : 1)
    })
  }

  it('reads every block once, and starts again when all were read', async () => {
    expect(await find({ to: FROM + 5_000n, limit: 10_000n })).to.equal(undefined)
    expect(ranges).to.deep.equal([
      { from: FROM, to: FROM + 999n },
      { from: FROM + 1_000n, to: FROM + 2_999n },
      { from: FROM + 3_000n, to: FROM + 5_000n },
    ])
    expect(await find({ event: FROM, to: FROM + 5_001n, limit: 10_000n })).to.equal(FROM)
  })

  it('searches again for a log that a node did not return, also if the chain grows faster than the search', async () => {
    const event = FROM + 5n
    let to = FROM + 67n
    expect(await find({ to, limit: 1n })).to.equal(undefined)
    let calls = 1
    for (let found: bigint | undefined; found === undefined && calls < 20; calls += 1) {
      to += 60n
      found = await find({ event, to, limit: 1n })
    }
    // Four calls read the first 68 blocks, and the next call starts again.
    expect(calls).to.equal(5)
  })

  it('reads long ranges again after an overloaded node has refused all ranges for a while', async () => {
    expect(await find({ to: FROM + 5_000n, limit: 0n }).catch(() => 'refused')).to.equal('refused')
    expect(await find({ event: FROM + 5_000n, to: FROM + 5_000n, limit: 10_000n })).to.equal(FROM + 5_000n)
  })

  it('reads no block above the newest one of a node that lags, and continues on another node', async () => {
    const event = FROM + 60n
    expect(await find({ event, to: FROM + 70n, limit: 1n })).to.equal(undefined)
    ranges.length = 0
    expect(await find({ event, to: FROM + 12n, limit: 1n })).to.equal(undefined)
    expect(ranges.filter((range) => range.to > FROM + 12n)).to.deep.equal([])
    let calls = 0
    while (calls < 9 && (await find({ event, to: FROM + 70n, limit: 1n })) === undefined) calls += 1
    expect(calls).to.equal(2)
  })

  it('ends although the newest block was far beyond the chain once', async () => {
    const event = FROM + 5n
    expect(await find({ to: FROM + 1_000_000n, limit: 3n })).to.equal(undefined)
    let found: bigint | undefined
    for (let calls = 0; calls < 10 && found === undefined; calls += 1)
      found = await find({ event, to: FROM + 100n + BigInt(20 * calls), limit: 3n })
    expect(found).to.equal(event)
  })

  it('starts the next search shortly before the event, which a reorganisation may move', async () => {
    const event = FROM + 3_500n
    await find({ event, to: FROM + 5_000n, limit: 10_000n })
    ranges.length = 0
    expect(await find({ event: event - 500n, to: FROM + 5_000n, limit: 10_000n })).to.equal(event - 500n)
    expect(ranges[0]?.from).to.equal(FROM + 3_000n - 64n)
  })

  it('ends after a range that takes too long, and begins the next call with a smaller one', async () => {
    const event = FROM + 2_000n
    const late = new DOMException('The operation was aborted due to timeout', 'TimeoutError')
    const found: unknown[] = []
    for (let calls = 0; calls < 30 && found.at(-1) !== event; calls += 1) {
      ranges.length = 0
      found.push(await find({ event, to: FROM + 3_000n, limit: 300n, refusal: late }).catch(() => 'too late'))
      expect(ranges.filter((range) => sizeOf(range) > 300n).length).to.be.at.most(1)
    }
    expect(found.at(-1)).to.equal(event)
  })

  it('ends at once if the node limits the rate, and continues there with the same range in the next call', async () => {
    const question = { event: FROM + 300n, to: FROM + 500n }
    const limited = await find({ ...question, limit: 0n, refusal: new RateLimited('1') }).catch(() => 'limited')
    expect(limited).to.equal('limited')
    expect(await find(question)).to.equal(question.event)
    expect(ranges[1]).to.deep.equal(ranges[0])
  })

  it('fails if the node refuses one block, and at once if it is unreachable', async () => {
    const fail = (refusal: Error) => find({ to: FROM + 100n, limit: 0n, refusal }).catch((error: unknown) => error)
    const refusal = new RpcError({ code: -32_601, message: 'no logs' })
    expect(await fail(refusal)).to.equal(refusal)
    expect(ranges.at(-1)).to.deep.equal({ from: FROM, to: FROM })
    ranges.length = 0
    const unreachable = new ReplyError('UNREACHABLE')
    expect(await fail(unreachable)).to.equal(unreachable)
    expect(ranges).to.have.lengthOf(1)
  })
})
