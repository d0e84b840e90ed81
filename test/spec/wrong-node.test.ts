/**
 * One of two nodes shows a fork without the transfer of a sale, or another chain. The other node shows the transfer.
 */
import { expect } from 'chai'
import { paymentIdentity } from '../../agent/payment/binding.ts'
import { readChainWith } from '../../agent/settlement/chain/chain.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { randomFor } from '../support/random.ts'
import { startReconciler } from '../../agent/settlement/reconciler.ts'
import { LaggingChain } from '../support/lagging-chain.ts'
import { signedPayment, testTerms, type AuthorizationFields } from '../support/payments.ts'
import { codeOf, SaleHarness } from '../support/sale-harness.ts'

const { chainId } = DEPLOYMENTS.testnet
const ANSWER = 'answer'
const UNKNOWN = 'payment_outcome_unknown'
/** Longer than every delay of the reconciler. */
const STEP_MS = 310_000
/** More than the time until a block is final, and than the lifetime of the authorization. */
const STEPS = 6

const CHAINS = { 'a fork without the transfer': chainId, 'another chain': 1 }
const REPLIES = ['success', 'settlement_pending', 'insufficient_funds'] as const

describe('[5.7.2, 5.7.8] a sale whose transfer one of two nodes does not show', () => {
  let sale: SaleHarness
  let clock: number

  beforeEach(async () => {
    clock = Date.now()
    sale = await SaleHarness.open()
    sale.now = () => new Date(clock)
  })
  afterEach(() => sale.close())

  function openNode(id: number): LaggingChain {
    const wait = () => Promise.resolve()
    return new LaggingChain({
      chainId: id,
      blockMs: 2_000,
      lags: [0],
      now: () => clock,
      random: randomFor(1, 0, 0),
      wait,
    })
  }

  /** A facilitator that sends the transfer once, and then gives this reply with its transaction. */
  function settleWith(reply: (typeof REPLIES)[number], right: LaggingChain): void {
    let transaction: string | undefined
    sale.script.settle = async ({ payload }) => {
      const { authorization } = payload as { authorization: AuthorizationFields }
      transaction ??= right.send(authorization)
      clock += 2_000
      const isSuccess = reply === 'success'
      const common = { transaction, network: testTerms.network, payer: authorization.from }
      return { ...common, success: isSuccess, ...(!isSuccess && { errorReason: reply }) }
    }
  }

  for (const [shown, id] of Object.entries(CHAINS))
    for (const position of ['first', 'second'] as const)
      for (const reply of REPLIES)
        it(`is never refused and ends as confirmed: ${reply}, the ${position} node shows ${shown}`, async () => {
          const [right, wrong] = [openNode(chainId), openNode(id)]
          const nodes = position === 'first' ? [wrong, right] : [right, wrong]
          const pause = () => Promise.resolve()
          sale.context.payments = {
            ...sale.context.payments,
            chain: readChainWith(
              nodes.map(({ rpc }) => rpc),
              { chainId, now: sale.now, pause },
            ),
          }
          settleWith(reply, right)
          const payment = await signedPayment()
          const codes = [codeOf(await sale.lookup(payment))]
          const { payments } = sale.context
          const timer = () => () => undefined
          const reconciler = startReconciler({ payments, timer, runExclusively: (_key, work) => work() })
          for (let step = 0; step < STEPS; step += 1) {
            clock += STEP_MS
            await reconciler.reconcileDue()
            codes.push(codeOf(await sale.lookup(payment)))
          }
          await reconciler.stop()
          for (const code of codes) expect(code).to.be.oneOf([ANSWER, UNKNOWN])
          expect(codes.at(-1)).to.equal(ANSWER)
          expect((await payments.log.read(paymentIdentity(payment as never)))?.state).to.equal('confirmed')
        })
})
