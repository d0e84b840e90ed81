/** How many calls to the node sales and open payments cost. */
import { expect } from 'chai'
import { readChainWith } from '../../../agent/settlement/chain/chain.ts'
import { DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import { startReconciler } from '../../../agent/settlement/reconciler.ts'
import { randomFor } from '../../support/random.ts'
import { LaggingChain } from '../../support/lagging-chain.ts'
import { signedPayment, type AuthorizationFields } from '../../support/payments.ts'
import { codeOf, settledReply, useSale } from '../../support/sale-harness.ts'

const { chainId } = DEPLOYMENTS.testnet
const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
/** Longer than the time until a block is final. */
const FINAL_MS = 20 * MINUTE_MS

describe('the calls to the node', () => {
  const sale = useSale()
  let chain: LaggingChain
  let clock: number

  beforeEach(async () => {
    clock = Date.now()
    sale.now = () => new Date(clock)
    const wait = () => Promise.resolve()
    chain = new LaggingChain({ chainId, blockMs: 2_000, lags: [0], now: () => clock, random: randomFor(1, 0, 0), wait })
    const payments = { ...sale.context.payments, chain: readChainWith([chain.rpc], { chainId, now: sale.now }) }
    sale.context.payments = payments
  })

  const send = (payload: unknown) =>
    chain.send((payload as { payload: { authorization: AuthorizationFields } }).payload.authorization)

  /** The calls since the last call of this function. */
  function takeCalls(): number {
    const { calls } = chain
    chain.calls = 0
    return calls
  }

  function openReconciler() {
    return startReconciler({
      payments: sale.context.payments,
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
    expect(await sale.context.payments.log.unfinished()).to.deep.equal([])
    // Final block and newest block, then the use of the nonce, the transfer, and whether its block is final.
    expect(takeCalls()).to.equal(2 + 3)
    await reconciler.stop()
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
