/** How many calls to the node sales and open payments cost. */
import { expect } from 'chai'
import { readChainWith } from '../../../agent/settlement/chain/chain.ts'
import { DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import { startReconciler } from '../../../agent/settlement/reconciler.ts'
import { randomFor } from '../../support/random.ts'
import type { ResponseRecord } from '../../../store/log/record.ts'
import { LaggingChain } from '../../support/lagging-chain.ts'
import { signedPayment, type AuthorizationFields } from '../../support/payments.ts'
import { makeRecord } from '../../support/records.ts'
import { codeOf, SaleHarness, settledReply } from '../../support/sale-harness.ts'

const { chainId } = DEPLOYMENTS.testnet
const SECOND_MS = 1_000
const RUN_MS = 10 * SECOND_MS
const MINUTE_MS = 60 * SECOND_MS
/** Longer than the time until a block is final. */
const FINAL_MS = 20 * MINUTE_MS
const OPEN_PAYMENTS = 1_800
const CALLS_PER_MINUTE_MAX = 25

describe('the calls to the node', () => {
  let sale: SaleHarness
  let chain: LaggingChain
  let clock: number

  beforeEach(async () => {
    clock = Date.now()
    sale = await SaleHarness.open()
    await sale.limitTo(2 * OPEN_PAYMENTS)
    sale.now = () => new Date(clock)
    const wait = () => Promise.resolve()
    chain = new LaggingChain({ chainId, blockMs: 2_000, lags: [0], now: () => clock, random: randomFor(1, 0, 0), wait })
    const payments = { ...sale.context.payments, chain: readChainWith([chain.rpc], { chainId, now: sale.now }) }
    sale.context.payments = payments
  })
  afterEach(() => sale.close())

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

  /** Runs the reconciler at its usual pace, and returns the calls of each minute. */
  async function reconcileFor(milliseconds: number, reconciler: ReturnType<typeof openReconciler>): Promise<number[]> {
    const calls: number[] = []
    for (let minute = 0; minute * MINUTE_MS < milliseconds; minute += 1) {
      for (let run = 0; run * RUN_MS < MINUTE_MS; run += 1) {
        clock += RUN_MS
        await reconciler.reconcileDue()
      }
      calls.push(takeCalls())
    }
    return calls
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

  for (const state of ['unknown', 'settled'] as const)
    it(`are at most ${CALLS_PER_MINUTE_MAX} a minute for ${OPEN_PAYMENTS} ${state} payments`, async () => {
      const { log } = sale.context.payments
      const time = new Date(clock).toISOString()
      for (let index = 1; index <= OPEN_PAYMENTS; index += 1) {
        const record = openRecord(index, { state, prepared_at: time, updated_at: time })
        // Settled in a block that is not final during the test.
        if (state === 'settled') send(record.payment)
        await log.claim(record)
      }
      const reconciler = openReconciler()
      const calls = await reconcileFor(10 * MINUTE_MS, reconciler)
      await reconciler.stop()
      expect(await log.unfinished()).to.have.lengthOf(OPEN_PAYMENTS)
      // New payments are observed more often than every two minutes.
      const later = calls.slice(4)
      const mean = later.reduce((sum, count) => sum + count, 0) / later.length
      expect(mean, calls.join(' ')).to.be.at.most(CALLS_PER_MINUTE_MAX)
      expect(Math.min(...calls)).to.be.at.least(2)
    })

  /** A payment that expires too soon to be settled again. */
  function openRecord(index: number, change: Partial<ResponseRecord>): ResponseRecord {
    const nonce = `0x${index.toString(16).padStart(64, '0')}`
    const validBefore = String(Math.floor(clock / SECOND_MS) + 10)
    const payment_hash = index.toString(16).padStart(64, '0')
    return makeRecord({ nonce, validBefore, payment_hash, from_block: '49000', payment_response: 'e30=', ...change })
  }
})
