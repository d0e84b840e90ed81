/** Records of the version before, which remembers no refusal, are answered and end as they would have. */
import { expect } from 'chai'
import type { NonceState } from '../../../agent/settlement/decide.ts'
import { startReconciler } from '../../../agent/settlement/reconciler.ts'
import type { RecordState, ResponseRecord } from '../../../store/log/record.ts'
import { signedPayment, testTerms, type WirePayment } from '../../support/payments.ts'
import { storeRecord } from '../../support/records.ts'
import { codeOf, SaleHarness, TRANSACTION } from '../../support/sale-harness.ts'

const MINUTE_MS = 60_000

/** What the chain shows, the answer to a retry, the state after it, and the state in the end. */
const CASES: [RecordState, 'free' | 'paid', string, RecordState, RecordState][] = [
  ['prepared', 'paid', 'answer', 'settled', 'confirmed'],
  ['prepared', 'free', 'answer', 'settled', 'confirmed'],
  ['settling', 'paid', 'answer', 'settled', 'confirmed'],
  ['settling', 'free', 'answer', 'settled', 'confirmed'],
  ['unknown', 'paid', 'answer', 'settled', 'confirmed'],
  ['unknown', 'free', 'answer', 'settled', 'confirmed'],
  ['settled', 'paid', 'answer', 'settled', 'confirmed'],
  ['refused', 'free', 'payment_failed', 'refused', 'expired'],
  ['refused', 'paid', 'payment_failed', 'refused', 'confirmed'],
]

describe('[5.6.2, 5.7.4] a record of the version before', () => {
  let shop: SaleHarness
  let payment: WirePayment
  let clock: number
  let identity: string

  /** The record that a sale of the version before left in this state, in the log of a service that starts now. */
  async function openWith(state: RecordState): Promise<ResponseRecord> {
    payment = await signedPayment()
    const before = await SaleHarness.open()
    expect(codeOf(await before.lookup(payment))).to.equal('answer')
    const { log } = before.context.payments
    const [sold] = await Promise.all((await log.unfinished()).map((each) => log.read(each)))
    await before.close()
    if (!sold) throw new Error('The sale has no record')
    const { receipt: _receipt, reported_transaction: _reported, ...rest } = sold
    expect(rest.refused_at).to.equal(undefined)
    const payment_response = state === 'settled' ? sold.payment_response : null
    const record = { ...rest, state, payment_response, ...(state === 'settling' && { attempt: 2 }) }
    identity = sold.identity
    clock = Date.now() + MINUTE_MS
    shop = await SaleHarness.open()
    shop.now = () => new Date(clock)
    await storeRecord(shop.context.payments.log, record)
    await shop.restart()
    return record
  }
  afterEach(() => shop.close())

  const read = () => shop.context.payments.log.read(identity)
  const paid = (isFinal: boolean): NonceState => ({
    nonce: 'used',
    transfer: { from: payment.payload.authorization.from, to: testTerms.payTo, value: 1000n, transaction: TRANSACTION },
    isFinal,
  })
  const free = (finalTime: bigint): NonceState => ({
    nonce: 'free',
    time: BigInt(Math.ceil(clock / 1000) + 1),
    finalTime,
  })

  for (const [state, shown, answer, after, end] of CASES)
    it(`that is ${state} and ${shown} gets ${answer}, is ${after}, and ends as ${end}`, async () => {
      const record = await openWith(state)
      shop.script.nonceState = async () => (shown === 'paid' ? paid(false) : free(0n))
      const outcome = await shop.lookup(payment)
      expect(codeOf(outcome)).to.equal(answer)
      expect(await read()).to.include({ state: after, body: record.body })
      expect(shop.count('settle')).to.equal(shown === 'free' && state !== 'refused' ? 1 : 0)
      const again = await shop.lookup(payment)
      expect(again).to.deep.equal(outcome)
      shop.script.nonceState = async () => (end === 'expired' ? free(2n ** 40n) : paid(true))
      const reconciler = startReconciler({
        payments: shop.context.payments,
        timer: () => () => undefined,
        runExclusively: (_key, work) => work(),
      })
      for (let run = 0; run < 4; run += 1) {
        await reconciler.reconcileDue()
        clock += 6 * MINUTE_MS
      }
      await reconciler.stop()
      expect((await read())?.state).to.equal(end)
    })
})
