/** Which of several nodes is asked, and that only nodes of the chain are. */
import { expect } from 'chai'
import type { CallLimits, Rpc } from '../../../../agent/settlement/rpc/json-rpc.ts'
import { Nodes } from '../../../../agent/settlement/rpc/nodes.ts'
import { ReplyError } from '../../../../agent/settlement/rpc/post-json.ts'

const CHAIN_ID = 84_532
const RIGHT_ID = '0x14a34'

describe('the nodes of a chain', () => {
  let calls: string[]
  let limits: (CallLimits | undefined)[]
  beforeEach(() => {
    calls = []
    limits = []
  })

  interface Script {
    chainId?: unknown
    isDown?: boolean
  }

  /** Each node answers with its number, until its script says otherwise. */
  const open = (...scripts: Script[]) =>
    new Nodes(
      scripts.map((script, node): Rpc => async (method, _params, limit) => {
        calls.push(`${node} ${method}`)
        limits.push(limit)
        if (script.isDown === true) throw new ReplyError(`DOWN_${node}`)
        const { chainId = RIGHT_ID } = script
        return method === 'eth_chainId' ? chainId : node
      }),
      CHAIN_ID,
    )
  const ask = (nodes: Nodes) => nodes.inTurn((rpc) => rpc('work'))
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      (result) => `answered ${String(result)}`,
      (cause: { code?: string }) => cause.code,
    )

  for (const chainId of [null, '0x', '', CHAIN_ID])
    it(`are checked again after the chain id ${JSON.stringify(chainId)}, which names no chain`, async () => {
      const script: Script = { chainId }
      const nodes = open(script)
      expect(await codeOf(ask(nodes))).to.equal('NO_CHAIN_ID')
      script.chainId = RIGHT_ID
      expect(await ask(nodes)).to.equal(0)
    })

  it('get only eth_chainId if they belong to another chain, and again before the next call', async () => {
    const script: Script = { chainId: '0x1' }
    const nodes = open(script)
    expect(await codeOf(ask(nodes))).to.equal('WRONG_CHAIN')
    expect(calls).to.deep.equal(['0 eth_chainId'])
    script.chainId = RIGHT_ID
    for (let times = 0; times < 2; times += 1) expect(await ask(nodes)).to.equal(0)
    expect(calls).to.deep.equal(['0 eth_chainId', '0 eth_chainId', '0 work', '0 work'])
  })

  it('share one check of the chain id between calls at once', async () => {
    const nodes = open({})
    await Promise.all([ask(nodes), ask(nodes)])
    expect(calls).to.deep.equal(['0 eth_chainId', '0 work', '0 work'])
  })

  it('are asked one after the other, beginning with the one that answered last', async () => {
    const first: Script = { isDown: true }
    const nodes = open(first, { chainId: '0x1' }, {})
    expect(await ask(nodes)).to.equal(2)
    expect(nodes.order()).to.deep.equal([2, 0, 1])
    first.isDown = false
    expect(await ask(nodes)).to.equal(2)
    expect(nodes.order(2)).to.deep.equal([0, 1, 2])
  })

  it('begin with the next one after a failure of all, whose last cause the caller gets', async () => {
    const nodes = open({ isDown: true }, { isDown: true })
    expect(await codeOf(ask(nodes))).to.equal('DOWN_1')
    expect(nodes.order()).to.deep.equal([1, 0])
  })

  it('are not asked further after an error that is an answer, and after an abort', async () => {
    const nodes = open({ isDown: true }, {})
    expect(await codeOf(nodes.inTurn((rpc) => rpc('work'), { isAnswer: () => true }))).to.equal('DOWN_0')
    expect(await codeOf(nodes.inTurn((rpc) => rpc('work'), { signal: AbortSignal.abort() }))).to.equal('DOWN_0')
    expect(calls).to.deep.equal(['0 eth_chainId', '0 eth_chainId'])
  })

  it('have the short time limit only while another one is left', async () => {
    await open({ isDown: true }, {}).inTurn((rpc) => rpc('work'), { timeoutMs: 7 })
    expect(limits.map((each) => each?.timeoutMs)).to.deep.equal([7, undefined, undefined])
  })
})
