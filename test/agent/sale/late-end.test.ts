/** Payments that end up to an hour from now, as those of clients that ignore the lifetime of the quote. */
import { expect } from 'chai'
import { signedPayment, testTerms, type WirePayment } from '../../support/payments.ts'
import { codeOf, useSale } from '../../support/sale-harness.ts'

const HOUR_SECONDS = 3_600

describe('a payment that ends in an hour', () => {
  const sale = useSale()

  const sign = (seconds = HOUR_SECONDS): Promise<WirePayment> => {
    const validBefore = String(Math.floor(sale.now().getTime() / 1000) + seconds)
    return signedPayment({ authorization: { validBefore } })
  }
  const refuse = async () => ({
    success: false,
    errorReason: 'insufficient_funds',
    transaction: '',
    network: testTerms.network,
  })

  for (const [seconds, sales] of [
    [300, 0],
    [HOUR_SECONDS, 1],
  ] as const)
    it(`[6.2.6] counts ${sales} times in the limit of sales after a refusal if it ends in ${seconds} s`, async () => {
      sale.script.settle = refuse
      expect(codeOf(await sale.lookup(await sign(seconds)))).to.equal('payment_failed')
      expect(sale.context.sales.count()).to.equal(sales)
    })

  it('[6.2.5] is not sold while four payments of its payer have an unknown outcome', async () => {
    const { settle } = sale.script
    const { nonceState } = sale.script
    sale.script.nonceState = async () => ({ nonce: 'unclear' })
    sale.script.settle = () => Promise.reject(new Error('no reply'))
    for (let times = 0; times < 4; times += 1)
      expect(codeOf(await sale.lookup(await sign()))).to.equal('payment_outcome_unknown')
    sale.script.settle = settle
    sale.script.nonceState = nonceState
    const payment = await sign()
    expect(codeOf(await sale.lookup(payment))).to.equal('rate_limited')
    const other = await signedPayment({ key: `0x${'7'.repeat(64)}` })
    expect(codeOf(await sale.lookup(other))).to.equal('answer')
    const [first] = await sale.unsettledRecords()
    const { log } = sale.context.services
    await log.advance(first!, { state: 'settled', payment_response: 'e30=', updated_at: sale.now().toISOString() })
    expect(codeOf(await sale.lookup(payment))).to.equal('answer')
  })
})
