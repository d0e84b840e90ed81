/** The proof of nodes that they show one chain. */
import { expect } from 'chai'
import { numberToHex } from 'viem'
import { FactoryFailed, ProvedNodes } from '../../../../agent/settlement/chain/proved-nodes.ts'
import { WrongChain, type Rpc } from '../../../../agent/settlement/rpc/json-rpc.ts'
import { ReplyError } from '../../../../agent/settlement/rpc/post-json.ts'

interface FakeNode {
  final: number
  /** The blocks of two nodes with one salt are equal. */
  salt: string
  isDead?: boolean
}

const down = new ReplyError('UNREACHABLE')

describe('the nodes of one service', () => {
  let calls = 0

  beforeEach(() => {
    calls = 0
  })

  function open(...nodes: FakeNode[]): ProvedNodes {
    const rpcs = nodes.map((node): Rpc => async (_, [at] = []) => {
      calls += 1
      if (node.isDead === true) throw down
      const number = at === 'finalized' ? node.final : Number(at)
      return { number: numberToHex(number), hash: `0x${`${node.salt}${number}`.padStart(64, '0')}`, timestamp: '0x1' }
    })
    return new ProvedNodes(rpcs)
  }

  const use = (proved: ProvedNodes, node: number, result: unknown = 'used') =>
    proved
      .use(node, async () => {
        if (result instanceof Error) throw result
        return result
      })
      .catch((cause: unknown) => (cause instanceof WrongChain ? 'wrong chain' : 'failed'))

  const useAll = (proved: ProvedNodes, count: number) =>
    Promise.all(Array.from({ length: count }, (_, node) => use(proved, node)))

  it('[5.7.14] have nothing to prove if there is one', async () => {
    const proved = open({ final: 9, salt: 'a' })
    expect(await use(proved, 0)).to.equal('used')
    expect(calls).to.equal(0)
  })

  it('[5.7.14] prove once that their newest common final block is equal, at whatever height they are', async () => {
    const proved = open({ final: 9, salt: 'a' }, { final: 5, salt: 'a' }, { final: 30, salt: 'a' })
    await useAll(proved, 3)
    calls = 0
    for (const node of [0, 1, 2]) expect(await use(proved, node)).to.equal('used')
    expect(calls).to.equal(0)
  })

  it('[5.7.14] are refused together if one contradicts, and silence contradicts nothing', async () => {
    const right = { final: 9, salt: 'a' }
    expect(await useAll(open(right, { final: 9, salt: 'b' }), 2)).to.include('wrong chain')
    expect(await useAll(open(right, { final: 9, salt: 'a', isDead: true }), 2)).to.deep.equal(['used', 'failed'])
  })

  it('[5.7.14] are used again after a failure only with a new proof', async () => {
    const second: FakeNode = { final: 9, salt: 'a' }
    const proved = open({ final: 9, salt: 'a' }, second)
    await useAll(proved, 2)
    second.salt = 'b'
    expect(await use(proved, 1)).to.equal('used')
    // The call of a factory can fail by itself.
    expect(await use(proved, 1, new FactoryFailed(down))).to.equal('failed')
    expect(await use(proved, 1)).to.equal('used')
    expect(await use(proved, 1, down)).to.equal('failed')
    expect(await use(proved, 1)).to.equal('wrong chain')
    second.salt = 'a'
    expect(await use(proved, 1)).to.equal('used')
  })
})
