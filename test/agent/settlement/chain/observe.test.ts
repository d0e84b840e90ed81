/** Observations of several nodes that fail, lag or belong to another chain. */
import { expect } from 'chai'
import { numberToHex, pad, concat, type Hex } from 'viem'
import { ClockCheck } from '../../../../agent/settlement/chain/clock.ts'
import { openObserver } from '../../../../agent/settlement/chain/observe.ts'
import { PAYMENTS_MAX } from '../../../../agent/settlement/chain/view.ts'
import { RpcError, type Rpc } from '../../../../agent/settlement/rpc/json-rpc.ts'
import { Nodes } from '../../../../agent/settlement/rpc/nodes.ts'
import { RateLimited, ReplyError } from '../../../../agent/settlement/rpc/post-json.ts'

const CHAIN_ID = 84_532
const NOW = 1_800_000_000
const HASH = `0x${'b1'.repeat(32)}` as const
const PAYMENT = {
  asset: `0x${'aa'.repeat(20)}`,
  payer: `0x${'bb'.repeat(20)}`,
  nonce: `0x${'cc'.repeat(32)}`,
} as const

interface State {
  chainId?: number
  number?: number
  time?: number
  anchor?: Hex
  payments?: Hex[]
}

const word = (value: number | Hex) => (typeof value === 'number' ? numberToHex(value, { size: 32 }) : pad(value))

/** The result of the view on a node in this state. */
function viewOf({ chainId = CHAIN_ID, number = 1_000, time = NOW, anchor = HASH, payments = [] }: State = {}): Hex {
  return concat([
    ...[chainId, number, time, anchor, '0x0' as const, 0, 256, 288, 0, payments.length / 4].map(word),
    ...payments,
  ])
}

describe('an observation of the chain', () => {
  const calls: number[] = []
  const pauses: number[] = []
  let isClockWrong = () => false
  let now = NOW * 1000
  beforeEach(() => void (now = NOW * 1000))

  /** Opens an observer of these nodes, each of which gives its replies in turn and repeats the last one. */
  function observerOf(...nodes: (State | Error | string)[][]) {
    calls.length = 0
    pauses.length = 0
    const rpcs = nodes.map((replies, node): Rpc => async () => {
      calls.push(node)
      const reply = replies.length > 1 ? replies.shift() : replies[0]
      if (reply instanceof Error) throw reply
      return typeof reply === 'string' ? reply : viewOf(reply)
    })
    const clock = new ClockCheck(
      () => new Date(now),
      () => undefined,
    )
    isClockWrong = () => clock.isWrong
    const pause = async (milliseconds: number) => pauses.push(milliseconds)
    return openObserver(new Nodes(rpcs, CHAIN_ID), { clock, pause })
  }
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'observed',
      (cause: unknown) => String((cause as { code?: unknown }).code),
    )
  const lagging = new RpcError({ code: -32_000, message: 'header not found' })
  const down = new ReplyError('UNREACHABLE')
  const late = Object.assign(new Error('late'), { name: 'TimeoutError', code: 'TIMEOUT' })

  it('is one call, with block, anchor, code, balance and nonce', async () => {
    const payments = [23, 5, 1, HASH].map((value) => word(value as number))
    const observe = observerOf([{ payments }])
    expect(await observe([PAYMENT])).to.deep.include({
      node: 0,
      number: 1_000n,
      time: BigInt(NOW),
      anchor: { number: 936n, hash: HASH },
      payments: [{ codeBytes: 23, balance: 5n, isNonceUsed: true, recordedHash: HASH }],
      trial: undefined,
      final: undefined,
    })
    expect(calls).to.deep.equal([0])
  })

  it('is not repeated if a call with a factory fails', async () => {
    const observe = observerOf([down])
    const transfer = { data: '0x', deployment: { factory: PAYMENT.payer, data: '0x' } } as const
    for (let minute = 0; minute < 3; minute += 1, now += 61_000)
      expect(await codeOf(observe([PAYMENT], { transfer }))).to.equal('FACTORY_FAILED')
    expect(calls).to.have.lengthOf(3)
  })

  for (const [name, failure] of [
    ['fails', down],
    ['lags', lagging],
    ['is too late', late],
    ['belongs to another chain', { chainId: 1 }],
    ['has no hash of the anchor', { anchor: '0x0' as const }],
    ['sends another result', '0x'],
    ['shows an older block than the last minute', { time: NOW - 61 }],
  ] as const)
    it(`comes from the next node if the first one ${name}, and then from that one`, async () => {
      const observe = observerOf([failure], [{}])
      expect((await observe([])).node).to.equal(1)
      expect((await observe([])).node).to.equal(1)
      expect(calls).to.deep.equal([0, 1, 1])
    })

  it('comes from a repeated call if the only node failed once', async () => {
    for (const failure of [down, lagging, '0x', { anchor: '0x0' as const }]) {
      expect((await observerOf([failure, {}])([])).number).to.equal(1_000n)
      expect(calls).to.deep.equal([0, 0])
    }
  })

  it('fails at once on another chain and after a time-out, and otherwise at the second failure', async () => {
    expect(await codeOf(observerOf([{ chainId: 1 }, {}])([]))).to.equal('WRONG_CHAIN')
    expect(await codeOf(observerOf([late, {}])([]))).to.equal('TIMEOUT')
    expect(calls).to.deep.equal([0])
    expect(await codeOf(observerOf([down, lagging, {}])([]))).to.equal('-32000')
  })

  for (const [retryAfter, pauseMs] of [
    [undefined, 300],
    ['0', 300],
    ['1', 1_000],
    ['2', 2_000],
    ['Mon, 23 Nov 2026 16:00:00 GMT', 300],
  ] as const)
    it(`comes from the only node ${pauseMs} ms after it limits the rate with Retry-After: ${retryAfter}`, async () => {
      expect((await observerOf([new RateLimited(retryAfter), {}])([])).number).to.equal(1_000n)
      expect(pauses).to.deep.equal([pauseMs])
    })

  it('comes at once from the next node if the first one limits the rate, and fails at once if it must wait long', async () => {
    expect((await observerOf([new RateLimited('1')], [{}])([])).node).to.equal(1)
    expect(await codeOf(observerOf([new RateLimited('3'), {}])([]))).to.equal('STATUS_429')
    expect({ calls, pauses }).to.deep.equal({ calls: [0], pauses: [] })
  })

  it('comes from a repeated call if the node behind the only URL is old, and says nothing of the clock', async () => {
    const old = [200, 198, 196].map((age, index) => ({ time: NOW - age, number: 900 + index }))
    const observe = observerOf([...old, {}])
    expect((await observe([])).number).to.equal(1_000n)
    expect(calls).to.deep.equal([0, 0, 0, 0])
    const twice = observerOf([...old.slice(0, 1), {}, ...old.slice(1, 2), {}])
    for (let times = 0; times < 2; times += 1) await twice([])
    expect(isClockWrong()).to.equal(false)
  })

  it('is the newest one if all nodes are older than a minute', async () => {
    const found = await observerOf([{ time: NOW - 300 }], [{ time: NOW - 100, number: 900 }], [{ time: NOW - 200 }])([])
    expect(found).to.include({ node: 1, number: 900n })
  })

  it('comes from another node if one is to be avoided, and from that one if no other answers', async () => {
    expect((await observerOf([{}], [{}])([], { otherThan: { node: 0 } })).node).to.equal(1)
    expect((await observerOf([{}], [down])([], { otherThan: { node: 0 } })).node).to.equal(0)
    expect((await observerOf([{}])([], { otherThan: { node: 0 } })).node).to.equal(0)
  })

  it('has a limit of payments', async () => {
    const many = Array.from({ length: PAYMENTS_MAX + 1 }, () => PAYMENT)
    expect(await codeOf(observerOf([{}])(many))).to.equal('undefined')
    expect(calls).to.deep.equal([])
  })
})
