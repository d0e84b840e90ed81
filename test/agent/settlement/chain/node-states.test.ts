/** The proof of nodes that they show one chain, and the nodes that are reported because they do not work. */
import { expect } from 'chai'
import { numberToHex } from 'viem'
import { NodeStates } from '../../../../agent/settlement/chain/node-states.ts'
import { WrongChain, type Rpc } from '../../../../agent/settlement/rpc/json-rpc.ts'
import { ReplyError } from '../../../../agent/settlement/rpc/post-json.ts'

interface FakeNode {
  final: number
  /** The blocks of two nodes with one salt are equal. */
  salt: string
  isDead?: boolean
}

const TIME = Date.parse('2026-01-01T00:00:00Z')
const down = new ReplyError('UNREACHABLE')

describe('the nodes of one service', () => {
  let time: number
  let reported: string[]
  let calls: number

  beforeEach(() => {
    time = TIME
    reported = []
    calls = 0
  })

  function open(...nodes: FakeNode[]): NodeStates {
    const rpcs = nodes.map((node): Rpc => async (_, [at] = []) => {
      calls += 1
      if (node.isDead === true) throw down
      const number = at === 'finalized' ? node.final : Number(at)
      return { number: numberToHex(number), hash: `0x${`${node.salt}${number}`.padStart(64, '0')}`, timestamp: '0x1' }
    })
    const onUnusable = (node: number, cause: unknown) => void reported.push(`${node} ${String(cause)}`)
    return new NodeStates(rpcs, { finalConfirmations: 900n, clock: { now: () => new Date(time) }, onUnusable })
  }

  const use = (states: NodeStates, node: number, result: unknown = 'used', isUsable = true) =>
    states
      .use(node, async () => {
        if (result instanceof Error) throw result
        return { result, isUsable }
      })
      .catch((cause: unknown) => (cause instanceof WrongChain ? 'wrong chain' : 'failed'))

  const useAll = (states: NodeStates, count: number) =>
    Promise.all(Array.from({ length: count }, (_, node) => use(states, node)))

  it('[5.7.14] have nothing to prove if there is one', async () => {
    const states = open({ final: 9, salt: 'a' })
    expect(await use(states, 0)).to.equal('used')
    expect(calls).to.equal(0)
  })

  it('[5.7.14] prove once that their newest common final block is equal, at whatever height they are', async () => {
    const states = open({ final: 9, salt: 'a' }, { final: 5, salt: 'a' }, { final: 30, salt: 'a' })
    await useAll(states, 3)
    calls = 0
    for (const node of [0, 1, 2]) expect(await use(states, node)).to.equal('used')
    expect(calls).to.equal(0)
  })

  it('[5.7.14] are refused together if one contradicts, and silence contradicts nothing', async () => {
    const right = { final: 9, salt: 'a' }
    expect(await useAll(open(right, { final: 9, salt: 'b' }), 2)).to.include('wrong chain')
    expect(await useAll(open(right, { final: 9, salt: 'a', isDead: true }), 2)).to.deep.equal(['used', 'failed'])
  })

  it('[5.7.14] are used again after a failure only with a new proof', async () => {
    const second: FakeNode = { final: 9, salt: 'a' }
    const states = open({ final: 9, salt: 'a' }, second)
    await useAll(states, 2)
    second.salt = 'b'
    expect(await use(states, 1)).to.equal('used')
    expect(await use(states, 1, down)).to.equal('failed')
    expect(await use(states, 1)).to.equal('wrong chain')
    second.salt = 'a'
    expect(await use(states, 1)).to.equal('used')
  })

  it('[5.7.14] are reported once if they fail, or show old blocks, for a minute', async () => {
    const states = open({ final: 9, salt: 'a' })
    for (const [seconds, result, isUsable] of [
      [0, 'used', false],
      [59, down, true],
      [60, down, true],
      [90, 'used', false],
    ] as const) {
      time = TIME + seconds * 1000
      await use(states, 0, result, isUsable)
      expect(reported).to.have.lengthOf(seconds < 60 ? 0 : 1)
      expect(states.unusable()).to.deep.equal(seconds < 60 ? [] : [0])
    }
    await use(states, 0)
    expect(states.unusable()).to.deep.equal([])
    await use(states, 0, down)
    expect(reported).to.have.lengthOf(1)
  })
})
