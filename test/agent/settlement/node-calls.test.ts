/** How many calls to the node sales and open payments cost. */
import { expect } from 'chai'
import { readChainWith } from '../../../agent/settlement/chain/chain.ts'
import { startReconciler } from '../../../agent/settlement/reconciler.ts'
import type { Rpc } from '../../../agent/settlement/rpc/json-rpc.ts'
import { signedPayment } from '../../support/payments.ts'
import { nodeOf } from '../../support/remotes/chain-node.ts'
import { authorizationOf, type SentPayment } from '../../support/remotes/facilitator.ts'
import { Ledger } from '../../support/remotes/ledger.ts'
import { codeOf, settledReply, useSale } from '../../support/sale-harness.ts'
import { openIdentities } from '../../support/records.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
/** On Base about 15 minutes. */
const UNFINAL_BLOCKS = 450
/** Longer than the time until a block is final. */
const FINAL_MS = 20 * MINUTE_MS

describe('the calls to the node', () => {
  const sale = useSale()
  let ledger: Ledger
  let calls: number
  let clock: number

  beforeEach(async () => {
    clock = Date.now()
    sale.now = () => new Date(clock)
    calls = 0
    ledger = new Ledger({ unfinalBlocks: UNFINAL_BLOCKS, now: () => clock })
    useNodes(1)
  })

  function useNodes(count: number): void {
    const node = nodeOf(ledger)
    const counted: Rpc = (...call) => {
      calls += 1
      return node(...call)
    }
    const nodes = Array.from({ length: count }, () => counted)
    const chain = readChainWith(nodes, { chainId: ledger.chainId, now: sale.now })
    sale.context.services = { ...sale.context.services, chain }
  }

  /** Puts the transfer into the next block. */
  const send = (payload: SentPayment['paymentPayload']) =>
    ledger.transfer(authorizationOf(payload), ledger.newest + 1)?.transaction ?? ''

  /** The calls since the last call of this function. */
  function takeCalls(): number {
    const taken = calls
    calls = 0
    return taken
  }

  function openReconciler() {
    return startReconciler({
      services: sale.context.services,
      timer: () => () => undefined,
      runExclusively: (_key, work) => work(),
    })
  }

  it('[5.7.8] are one before a sale, none after its success, and three to confirm it beside the observation of all payments', async () => {
    sale.script.settle = async (payload) => {
      expect(takeCalls()).to.equal(1)
      return { ...settledReply(payload), transaction: send(payload) }
    }
    const payment = await signedPayment()
    expect(codeOf(await sale.lookup(payment))).to.equal('answer')
    expect(takeCalls()).to.equal(0)
    clock += FINAL_MS
    const reconciler = openReconciler()
    await reconciler.reconcileDue()
    expect(await openIdentities(sale.context.services.log)).to.deep.equal([])
    // Final block and newest block, then the use of the nonce, the transfer, and whether its block is final.
    expect(takeCalls()).to.equal(2 + 3)
    await reconciler.stop()
  })

  it('[5.7.14] of three nodes are one for a sale, and two for a refusal, also of a reply of the facilitator', async () => {
    useNodes(3)
    expect(codeOf(await sale.lookup(await signedPayment()))).to.equal('answer')
    expect(takeCalls()).to.equal(1)
    const late = await signedPayment()
    const poor = await signedPayment()
    ledger.accounts.set(poor.payload.authorization.from.toLowerCase(), {
      revert: 'ERC20: transfer amount exceeds balance',
    })
    sale.script.verify = async () => ({ isValid: false, invalidReason: 'insufficient_funds' })
    expect(codeOf(await sale.lookup(poor))).to.equal('payment_rejected')
    expect(takeCalls()).to.equal(2)
    clock += FINAL_MS
    expect(codeOf(await sale.lookup(late))).to.equal('payment_invalid')
    expect(takeCalls()).to.equal(2)
  })

  it('are one before and two after a sale whose transfer is on chain when the facilitator gives no clear answer', async () => {
    sale.script.settle = async (payload) => {
      expect(takeCalls()).to.equal(1)
      const transaction = send(payload)
      // The next block has the transfer.
      clock += 2 * SECOND_MS
      return { ...settledReply(payload), success: false, errorReason: 'settlement_pending', transaction }
    }
    expect(codeOf(await sale.lookup(await signedPayment()))).to.equal('answer')
    expect(takeCalls()).to.equal(2)
  })
})
