/** A real chain takes a settled transfer back: it is settled again while that is possible, and ends when it is not. */
import { expect } from 'chai'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { paymentIdentity } from '../../../agent/payments/binding.ts'
import type { WirePayment } from '../../support/payments.ts'
import { openRealShop, type RealShop } from '../../support/real-shop.ts'

/** Beyond `validBefore` of every payment of the tests. */
const LIFETIME_SECONDS = 400

describe('a reorganisation that undoes a settled transfer', function () {
  // A transaction whose number the chain has taken back is waited for in vain.
  this.timeout(90_000)
  let place: RealShop
  let earlier: string[]

  beforeEach(async () => {
    place = await openRealShop()
    // The relayer has sent before, so it has a number in mind that the chain is about to take back.
    await place.shop.lookup(await place.sign())
    earlier = await place.transfers()
  })
  afterEach(() => place.close())

  const receiptOf = (header: string) => decodePaymentResponseHeader(header).transaction
  const state = async (payment: WirePayment) =>
    (await place.shop.seller.desk.log.read(paymentIdentity(payment as never)))?.state

  /** Sold, and then undone by a reorganisation of so many blocks. */
  async function soldAndUndone(depth: number) {
    const payment = await place.sign()
    const bought = await place.shop.lookup(payment)
    if (bought.kind !== 'answer') throw new Error('The payment was not settled')
    expect(await place.transfers()).to.deep.equal([...earlier, receiptOf(bought.paymentResponse)])
    if (depth > 1) await place.rpc('anvil_mine', `0x${(depth - 1).toString(16)}`)
    await place.rpc('anvil_reorg', depth, [])
    expect(await place.transfers()).to.deep.equal(earlier)
    return { payment, bought }
  }

  /** Time goes on for the chain and for the service; the newest blocks are then final, too. */
  async function wait(seconds: number): Promise<void> {
    await place.rpc('evm_increaseTime', seconds)
    await place.rpc('anvil_mine', '0x4')
    const now = place.shop.now().getTime() + seconds * 1000
    place.shop.now = () => new Date(now)
  }

  for (const depth of [1, 2]) {
    it(`of ${depth}: the audit settles again, and the retry gets the stored answer for the transfer that is there`, async () => {
      const { payment, bought } = await soldAndUndone(depth)
      await wait(2)
      await place.audit()
      let again = await place.shop.lookup(payment)
      for (let repeats = 0; again.kind !== 'answer' && repeats < 5; repeats += 1)
        again = await place.shop.lookup(payment)
      const transfers = await place.transfers()
      expect(transfers).to.have.lengthOf(earlier.length + 1)
      if (again.kind !== 'answer') throw new Error('The payment was not settled again')
      expect(again.body).to.equal(bought.body)
      expect(receiptOf(again.paymentResponse)).to.equal(transfers.at(-1))
      await wait(2)
      await place.audit()
      expect(await state(payment)).to.equal('confirmed')
      expect(await place.shop.lookup(payment)).to.deep.equal(again)
    })

    it(`of ${depth}, found too late: it has expired, nobody has paid, and the buyer may sign again`, async () => {
      const { payment } = await soldAndUndone(depth)
      await wait(LIFETIME_SECONDS)
      await place.audit()
      expect(await state(payment)).to.equal('expired')
      const outcome = await place.shop.lookup(payment)
      expect(outcome.kind === 'refused' && outcome.refusal.code).to.equal('payment_failed')
      expect(await place.transfers()).to.deep.equal(earlier)
    })
  }
})
