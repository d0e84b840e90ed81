/** Which nodes are asked, and what their answers are together. */
import { expect } from 'chai'
import { ask, type Need } from '../../../../agent/settlement/chain/reader.ts'
import type { Observation } from '../../../../agent/settlement/chain/observe.ts'
import { observationOf } from '../../../support/fake-chain.ts'

const NOW = new Date(1_800_000_000_000)
const PAYMENT = {
  asset: `0x${'aa'.repeat(20)}`,
  payer: `0x${'bb'.repeat(20)}`,
  nonce: `0x${'cc'.repeat(32)}`,
} as const

/** What a node shows: a balance, from a block of this age, or nothing. */
type Shown = { balance: number; age?: number } | 'down'

describe('an answer of the chain', () => {
  let asked: number[]
  let reports: string[]
  beforeEach(() => {
    asked = []
    reports = []
  })

  async function askNodes(need: Need, ...nodes: Shown[]): Promise<string> {
    const chain = {
      nodeCount: nodes.length,
      async observe(_: unknown, { node = 0 } = {}): Promise<Observation> {
        asked.push(node)
        const shown = nodes[node] ?? expect.fail('no such node')
        if (shown === 'down') throw new Error('down')
        const time = BigInt(NOW.getTime() / 1000 - (shown.age ?? 0))
        return { ...observationOf(NOW, [PAYMENT], [{ balance: BigInt(shown.balance), time }]), node }
      },
    }
    const report = (event: string) => void reports.push(event)
    const answer = await ask(
      { chain, now: () => NOW, report },
      {
        payments: [PAYMENT],
        // A balance of zero says nothing.
        judge: ({ payments: [payer] }) => (payer?.balance === 0n ? undefined : payer?.balance),
        needs: () => need,
      },
    )
    return answer.kind === 'none' ? 'none' : `${answer.kind} ${answer.verdict} of node ${answer.observation.node}`
  }
  const one = { balance: 1 }
  const two = { balance: 2 }
  const silent = { balance: 0 }

  it('is none if no node answers, and its cause is reported', async () => {
    expect(await askNodes('single', 'down')).to.equal('none')
    expect(reports).to.deep.equal(['chain_unavailable'])
  })

  it('is single without a call to another node if one is enough', async () => {
    expect(await askNodes('single', one, two)).to.equal('single 1 of node 0')
    expect(asked).to.deep.equal([0])
  })

  it('is agreed or contradicted by the next node, and the others are not asked', async () => {
    expect(await askNodes('agreed', one, one, two)).to.equal('agreed 1 of node 1')
    expect(await askNodes('agreed', one, two, one)).to.equal('contradicted 2 of node 1')
    expect(asked).to.deep.equal([0, 1, 0, 1])
  })

  for (const [name, node] of [
    ['is down', 'down'],
    ['says nothing', silent],
    ['is 61 seconds behind', { ...two, age: 61 }],
    ['is 61 seconds ahead', { ...two, age: -61 }],
  ] as [string, Shown][])
    for (const need of ['agreed', 'agreed by all'] as const)
      it(`is not changed by a node that ${name} if it must be ${need}`, async () => {
        expect(await askNodes(need, one, node)).to.equal('single 1 of node 0')
        expect(await askNodes(need, one, node, one)).to.equal('agreed 1 of node 2')
        expect(await askNodes(need, one, node, two)).to.equal('contradicted 2 of node 2')
        expect(reports).to.deep.equal([])
      })

  it('counts a node whose block is 60 seconds old', async () => {
    expect(await askNodes('agreed', one, { ...two, age: 60 })).to.equal('contradicted 2 of node 1')
  })

  it('is agreed by all only if each node that works agrees', async () => {
    expect(await askNodes('agreed by all', one, one, one)).to.equal('agreed 1 of node 1')
    expect(await askNodes('agreed by all', one, one, two)).to.equal('contradicted 2 of node 2')
    expect(await askNodes('agreed by all', one)).to.equal('single 1 of node 0')
  })
})
