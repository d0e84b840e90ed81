/** The x402 extension `payment-identifier`: an id of the payer that stands for one payment (contract 5.4.4). */
import { appendPaymentIdentifierToExtensions, generatePaymentId } from '@x402/extensions/payment-identifier'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { signedPayment, type PaymentOptions, type WirePayment } from '../../support/payments.ts'
import { codeOf, useSale } from '../../support/sale-harness.ts'

describe('a payment with a payment id', () => {
  const sale = useSale()
  let id: string

  beforeEach(() => void (id = generatePaymentId()))

  /** Adds the id with the public package, to the extensions that the quote declares. */
  async function paymentWithId(paymentId = id, options: PaymentOptions = {}): Promise<WirePayment> {
    const unpaid = await sale.lookup()
    const quote = unpaid.kind === 'refused' ? unpaid.quote?.header : undefined
    const extensions = decodePaymentRequiredHeader(quote ?? '').extensions ?? {}
    appendPaymentIdentifierToExtensions(extensions, paymentId)
    return { ...(await signedPayment(options)), extensions }
  }

  it('[5.4.4] conflicts with another payment of the payer that has the same id, also after a restart', async () => {
    await sale.lookup(await paymentWithId())
    await sale.restart()
    const before = [...sale.calls]
    const again = await paymentWithId()
    expect(codeOf(await sale.lookup(again))).to.equal('payment_replay_conflict')
    expect(sale.calls).to.deep.equal(before)
  })

  it('[5.4.4] conflicts while its outcome is unknown, and no longer once it is void', async () => {
    const works = sale.script.settle
    sale.script.settle = () => Promise.reject(new Error('reset'))
    sale.script.nonceState = async () => ({ nonce: 'unclear' })
    const lost = await paymentWithId()
    expect(codeOf(await sale.lookup(lost))).to.equal('payment_outcome_unknown')
    expect(codeOf(await sale.lookup(await paymentWithId()))).to.equal('payment_replay_conflict')
    sale.script.nonceState = async () => ({ nonce: 'cancelled', isFinal: true })
    expect(codeOf(await sale.lookup(lost))).to.equal('payment_outcome_unknown')
    sale.now = () => new Date(Date.now() + 61_000)
    expect(codeOf(await sale.lookup(lost))).to.equal('payment_failed')
    sale.script.settle = works
    const next = await paymentWithId()
    expect(codeOf(await sale.lookup(next))).to.equal('answer')
    expect(codeOf(await sale.lookup(await paymentWithId()))).to.equal('payment_replay_conflict')
    expect(codeOf(await sale.lookup(next))).to.equal('answer')
  })

  it('is optional: the extension as declared by the quote has no id', async () => {
    const payments = [await paymentWithId(), await paymentWithId()]
    for (const payment of payments) {
      const block = payment['extensions'] as Record<string, { info: Record<string, unknown> }>
      delete block['payment-identifier']?.info['id']
      expect(codeOf(await sale.lookup(payment))).to.equal('answer')
    }
    expect(sale.count('settle')).to.equal(2)
  })
})
