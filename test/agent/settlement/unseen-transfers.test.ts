/** Facilitators that report successes, and a node that does not show their transfers. */
import { expect } from 'chai'
import { readChainWith } from '../../../agent/settlement/chain/chain.ts'
import { listDoubts } from '../../../agent/settlement/doubts.ts'
import type { Rpc } from '../../../agent/settlement/rpc/json-rpc.ts'
import { signedPayment, type WirePayment } from '../../support/payments.ts'
import { nodeOf } from '../../support/remotes/chain-node.ts'
import { authorizationOf } from '../../support/remotes/facilitator.ts'
import { Ledger } from '../../support/remotes/ledger.ts'
import { codeOf, settledReply, useSale } from '../../support/sale-harness.ts'

const UNKNOWN = 'payment_outcome_unknown'
const SECOND_MS = 1_000
const BLOCK_MS = 2 * SECOND_MS

describe('[5.7.3, 5.7.20] a success whose transfer a node does not show', () => {
  const sale = useSale()
  let ledger: Ledger
  let clock: number
  let calls: string[]
  /** Blocks that the node is behind. */
  let behind: number
  let isHonest: boolean

  beforeEach(() => {
    // At the begin of a block.
    clock = Math.ceil(Date.now() / BLOCK_MS) * BLOCK_MS
    sale.now = () => new Date(clock)
    ledger = new Ledger({ unfinalBlocks: 450, now: () => clock })
    calls = []
    behind = 0
    isHonest = true
    sale.script.settle = async (payload) => {
      const authorization = authorizationOf(payload)
      const made = isHonest ? ledger.transfer(authorization) : undefined
      if (isHonest && !made) return { ...settledReply(payload), success: false, errorReason: 'transaction_failed' }
      return { ...settledReply(payload), transaction: made?.transaction ?? authorization.nonce }
    }
    useNodes(1)
  })

  /** All nodes are equally far behind. */
  function useNodes(count: number): void {
    const counted: Rpc = async (method, params) => {
      calls.push(method)
      return nodeOf(ledger, behind)(method, params)
    }
    const nodes = Array.from({ length: count }, () => counted)
    const chain = readChainWith(nodes, { chainId: ledger.chainId, now: sale.now })
    sale.context.services = { ...sale.context.services, chain }
  }

  const sign = () => signedPayment({ authorization: { validBefore: String(Math.floor(clock / SECOND_MS) + 300) } })
  const buy = async (payment?: WirePayment) => codeOf(await sale.lookup(payment ?? (await sign())))
  /** Sells at these seconds. */
  async function sellAt(...seconds: readonly number[]): Promise<string[]> {
    const start = clock
    const codes: string[] = []
    for (const second of seconds) {
      clock = start + second * SECOND_MS
      codes.push(await buy())
    }
    return codes
  }

  it('is followed by sales without the transfer in less than two blocks after the next observation only', async () => {
    isHonest = false
    expect(await sellAt(0, 1, 2, 4, 4, 5, 60)).to.deep.equal([
      ...Array<string>(3).fill('answer'),
      ...Array<string>(4).fill(UNKNOWN),
    ])
  })

  it('gives a facilitator that makes no transfer two answers at a sale every four seconds, with one node', async () => {
    isHonest = false
    const codes = await sellAt(...Array.from({ length: 20 }, (_, index) => 4 * index))
    expect(codes.filter((code) => code === 'answer')).to.have.length(2)
    // The reconciler has noted none yet.
    expect(await listDoubts(sale.context.services.log)).to.deep.equal([])
  })

  it('ends the doubt by itself when the node shows it, and no sale is refused with 402 meanwhile', async () => {
    behind = 5
    const codes = await sellAt(...Array.from({ length: 20 }, (_, index) => 2 * index))
    expect(new Set(codes)).to.deep.equal(new Set(['answer', UNKNOWN]))
    clock += 12 * SECOND_MS
    // The next observations show all transfers.
    await sellAt(0, 0, 0)
    behind = 0
    expect(await sellAt(2, 4, 6)).to.deep.equal(['answer', 'answer', 'answer'])
  })

  it('gives each payment of an honest facilitator its answer once the node shows its transfer', async () => {
    behind = 5
    const payments: WirePayment[] = []
    for (let sold = 0; sold < 10; sold += 1) {
      const payment = await sign()
      payments.push(payment)
      expect(await buy(payment)).to.be.oneOf(['answer', UNKNOWN])
      clock += 2 * SECOND_MS
    }
    clock += 30 * SECOND_MS
    for (const payment of payments) expect(await buy(payment)).to.equal('answer')
    expect(ledger.repeated).to.equal(0)
  })

  it('costs a sale no call of a node', async () => {
    for (const nodes of [1, 2]) {
      useNodes(nodes)
      for (let sold = 0; sold < 12; sold += 1) {
        calls.length = 0
        clock += BLOCK_MS
        expect(await buy()).to.equal('answer')
        expect(calls).to.deep.equal(['eth_call'])
      }
    }
  })

  it('is looked for by one of the observations that are made at the same time', () => {
    const { unseen } = sale.context.services.doubts
    const identities = ['one', 'two', 'three', 'four', 'five']
    for (const identity of identities) addSuccess(identity)
    const included = [unseen.next(), unseen.next(), unseen.next()].flat().map(({ identity }) => identity)
    expect(included).to.deep.equal([...identities, 'one'])
  })

  /** A success of the facilitator `liar`. */
  function addSuccess(identity: string): void {
    const payment = { payload: { authorization: { from: '0x1', nonce: '0x2' } } }
    sale.context.services.doubts.unseen.add({ identity, payment, requirements: { asset: '0x3' } } as never, 'liar')
  }

  it('is about its facilitator only, and of each node by its own blocks', () => {
    const { unseen } = sale.context.services.doubts
    addSuccess('one')
    const note = (node: number, number: bigint, isNonceUsed = false) =>
      unseen.noteObserved(unseen.next(), [{ isNonceUsed } as never], { node, number })
    note(0, 100n)
    note(1, 101n)
    note(1, 102n)
    note(0, 101n)
    expect(unseen.isMissing('liar')).to.equal(false)
    note(0, 102n)
    expect([unseen.isMissing('liar'), unseen.isMissing('other')]).to.deep.equal([true, false])
    note(1, 102n, true)
    expect([unseen.isMissing('liar'), unseen.next()]).to.deep.equal([false, []])
  })
})
