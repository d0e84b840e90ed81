/** A reorganisation of a real chain removes a settled transfer: it is settled again, or expires if that is too late. */
import { expect } from 'chai'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { paymentIdentity } from '../../../agent/payment/binding.ts'
import type { WirePayment } from '../../support/payments.ts'
import { openSaleOnChain, type SaleOnChain } from '../../support/sale-on-chain.ts'

/** Longer than the validity of the payments. */
const LIFETIME_SECONDS = 400
const OBSERVATIONS_APART_SECONDS = 60
/** The delay after the third settlement. */
const SETTLEMENTS_APART_SECONDS = 20

describe('a reorganisation that removes a settled transfer', function () {
  // Settlements after the reorganisation time out once, because the relayer's nonce is too high.
  this.timeout(240_000)
  let place: SaleOnChain
  let earlier: string[]

  beforeEach(async () => {
    place = await openSaleOnChain()
    // The relayer then caches a nonce that the reorganisation makes too high.
    await place.sale.lookup(await place.sign())
    earlier = await place.transfers()
  })
  afterEach(() => place.close())

  const receiptOf = (header: string) => decodePaymentResponseHeader(header).transaction
  const state = async (payment: WirePayment) =>
    (await place.sale.context.payments.log.read(paymentIdentity(payment as never)))?.state

  /** Sells a lookup and removes its transfer by a reorganisation of `depth` blocks. */
  async function sellAndUndo(depth: number) {
    const payment = await place.sign()
    const bought = await place.sale.lookup(payment)
    if (bought.kind !== 'answer') throw new Error('The payment was not settled')
    expect(await place.transfers()).to.deep.equal([...earlier, receiptOf(bought.paymentResponse)])
    if (depth > 1) await place.rpc('anvil_mine', `0x${(depth - 1).toString(16)}`)
    await place.rpc('anvil_reorg', depth, [])
    expect(await place.transfers()).to.deep.equal(earlier)
    return { payment, bought }
  }

  /** Advances the time of the chain and of the service, and makes the current blocks final. */
  async function advanceTime(seconds: number): Promise<void> {
    await place.rpc('evm_increaseTime', seconds)
    await place.rpc('anvil_mine', '0x4')
    const now = place.sale.now().getTime() + seconds * 1000
    place.sale.now = () => new Date(now)
  }

  for (const depth of [2]) {
    it(`of depth ${depth} is settled again, and a retry gets the stored response with the new transaction`, async () => {
      const { payment, bought } = await sellAndUndo(depth)
      await advanceTime(2)
      await place.audit()
      // The second of two observations.
      await advanceTime(OBSERVATIONS_APART_SECONDS)
      await place.audit()
      let again = await place.sale.lookup(payment)
      for (let repeats = 0; again.kind !== 'answer' && repeats < 5; repeats += 1) {
        await advanceTime(SETTLEMENTS_APART_SECONDS)
        again = await place.sale.lookup(payment)
      }
      const transfers = await place.transfers()
      expect(transfers).to.have.lengthOf(earlier.length + 1)
      if (again.kind !== 'answer') throw new Error('The payment was not settled again')
      expect(again.body).to.equal(bought.body)
      expect(receiptOf(again.paymentResponse)).to.equal(transfers.at(-1))
      await advanceTime(2)
      await place.audit()
      expect(await state(payment)).to.equal('confirmed')
      expect(await place.sale.lookup(payment)).to.deep.equal(again)
    })

    it(`of depth ${depth} ends as expired after validBefore, without a transfer`, async () => {
      const { payment } = await sellAndUndo(depth)
      await advanceTime(LIFETIME_SECONDS)
      await place.audit()
      // Two observations make the record unknown, and two further ones end it.
      for (let observation = 0; observation < 2; observation += 1) {
        await advanceTime(OBSERVATIONS_APART_SECONDS)
        await place.audit()
      }
      expect(await state(payment)).to.equal('expired')
      const outcome = await place.sale.lookup(payment)
      expect(outcome.kind === 'refused' && outcome.refusal.code).to.equal('payment_failed')
      expect(await place.transfers()).to.deep.equal(earlier)
    })
  }
})
