/** The extension payment-identifier: a buyer's own id for a payment, which stands for that payment and for no other. */
import { appendPaymentIdentifierToExtensions, generatePaymentId } from '@x402/extensions/payment-identifier'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { generatePrivateKey } from 'viem/accounts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { importDataset } from '../../../store/import/run.ts'
import { SYNTHETIC } from '../../../store/source.ts'
import { PROCESSES, REGISTER } from '../../support/fixtures.ts'
import { signedPayment, type PaymentOptions, type WirePayment } from '../../support/payments.ts'
import { TestSeller } from '../../support/seller.ts'

const codeOf = (outcome: Outcome) => (outcome.kind === 'answer' ? 'answer' : outcome.refusal.code)

describe('a payment with an id', () => {
  let shop: TestSeller
  let id: string

  beforeEach(async () => {
    shop = await TestSeller.open()
    id = generatePaymentId()
  })
  afterEach(() => shop.close())

  /** As the public package adds it to what a quote declares. */
  async function named(paymentId = id, options: PaymentOptions = {}): Promise<WirePayment> {
    const unpaid = await shop.lookup()
    const quote = unpaid.kind === 'refused' ? unpaid.quote?.header : undefined
    const extensions = decodePaymentRequiredHeader(quote ?? '').extensions ?? {}
    appendPaymentIdentifierToExtensions(extensions, paymentId)
    return { ...(await signedPayment(options)), extensions }
  }

  const settlements = () => shop.calls.filter((call) => call === 'settle').length

  it('buys, and buys the same again for nothing, also after a restart', async () => {
    const payment = await named()
    const bought = await shop.lookup(payment)
    expect(codeOf(bought)).to.equal('answer')
    await shop.restart()
    expect(await shop.lookup(payment)).to.deep.equal(bought)
    expect(settlements()).to.equal(1)
  })

  it('is a conflict for another payment of the same payer, before anybody is asked, also after a restart', async () => {
    await shop.lookup(await named())
    await shop.restart()
    const before = [...shop.calls]
    const again = await named()
    expect(codeOf(await shop.lookup(again))).to.equal('payment_replay_conflict')
    expect(shop.calls).to.deep.equal(before)
  })

  it('is a conflict for another operation with the same payment', async () => {
    await importDataset({
      dataDirectory: shop.directory,
      catalog: shop.seller.catalog,
      path: REGISTER,
      publication: SYNTHETIC,
      processes: PROCESSES,
      now: () => new Date(),
    })
    const payment = await named()
    expect(codeOf(await shop.lookup(payment, '73848'))).to.equal('answer')
    expect(codeOf(await shop.lookup(payment))).to.equal('payment_replay_conflict')
  })

  it('is held by one of two payments at the same moment, and only that one is settled', async () => {
    const [one, other] = [await named(), await named()]
    const codes = (await Promise.all([shop.lookup(one), shop.lookup(other)])).map(codeOf)
    expect(codes.toSorted()).to.deep.equal(['answer', 'payment_replay_conflict'])
    expect(settlements()).to.equal(1)
  })

  it('is also another payer’s to use: nobody can take it from him', async () => {
    await shop.lookup(await named())
    expect(codeOf(await shop.lookup(await named(id, { key: generatePrivateKey() })))).to.equal('answer')
  })

  it('is not taken by a payment that was never signed', async () => {
    const forged = await named(id, { signed: { value: '1' } })
    expect(codeOf(await shop.lookup(forged))).to.equal('payment_rejected')
    expect(codeOf(await shop.lookup(await named()))).to.equal('answer')
  })

  it('is held while the outcome is unknown, and free again once the payment has come to nothing', async () => {
    const works = shop.script.settle
    shop.script.settle = () => Promise.reject(new Error('reset'))
    shop.script.evidence = async () => ({ nonce: 'unclear' })
    const lost = await named()
    expect(codeOf(await shop.lookup(lost))).to.equal('payment_outcome_unknown')
    expect(codeOf(await shop.lookup(await named()))).to.equal('payment_replay_conflict')
    shop.script.evidence = async () => ({ nonce: 'cancelled', isFinal: true })
    expect(codeOf(await shop.lookup(lost))).to.equal('payment_failed')
    shop.script.settle = works
    const next = await named()
    expect(codeOf(await shop.lookup(next))).to.equal('answer')
    expect(codeOf(await shop.lookup(await named()))).to.equal('payment_replay_conflict')
    expect(codeOf(await shop.lookup(next))).to.equal('answer')
  })

  for (const [what, wrong] of Object.entries({
    'is too short': 'x'.repeat(15),
    'is too long': 'x'.repeat(129),
    'has other characters': 'payment/id with spaces',
    'is no text': 1e16,
  })) {
    it(`is refused where the id ${what}`, async () => {
      const payment = await named()
      const block = payment['extensions'] as Record<string, { info: Record<string, unknown> }>
      Object.assign(block['payment-identifier']?.info ?? {}, { id: wrong })
      expect(codeOf(await shop.lookup(payment))).to.equal('payment_invalid')
      expect(shop.calls).to.deep.equal([])
    })
  }

  it('may go without: the block as the quote declared it names nothing', async () => {
    const payments = [await named(), await named()]
    for (const payment of payments) {
      const block = payment['extensions'] as Record<string, { info: Record<string, unknown> }>
      delete block['payment-identifier']?.info['id']
      expect(codeOf(await shop.lookup(payment))).to.equal('answer')
    }
    expect(settlements()).to.equal(2)
  })
})
