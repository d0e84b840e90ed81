/** The limit of sales of one process, in whole sales. */
import { expect } from 'chai'
import { KeyedMutex } from '../../../../agent/sale/limits/keyed-mutex.ts'
import { SalesLimit } from '../../../../agent/sale/limits/sales-limit.ts'
import { signedPayment, withPaymentId } from '../../../support/payments.ts'
import { replaceMethods } from '../../../support/replace-methods.ts'
import { codeOf, useSale } from '../../../support/sale-harness.ts'

describe('the limit of sales of a process', () => {
  const sale = useSale()

  const paymentsOf = (count: number) =>
    Promise.all(Array.from({ length: count }, async () => withPaymentId(await signedPayment())))
  const codesOf = async (payments: readonly object[]) =>
    Promise.all(payments.map(async (payment) => codeOf(await sale.lookup(payment))))

  it('[6.2.1] sells no more in a minute, also at once, and a refused payment once a sale has expired', async () => {
    await sale.restart(2)
    const payments = await paymentsOf(5)
    const codes = await codesOf(payments)
    expect(codes.filter((code) => code === 'answer')).to.have.lengthOf(2)
    expect(codes.filter((code) => code === 'rate_limited')).to.have.lengthOf(3)
    expect(sale.count('settle')).to.equal(2)
    const limited = payments[codes.indexOf('rate_limited')]
    sale.pass(61_000)
    expect(codeOf(await sale.lookup(limited))).to.equal('answer')
  })

  it('[6.2.6] is forgotten by a restart', async () => {
    await sale.restart(1)
    const payments = await paymentsOf(2)
    expect(codeOf(await sale.lookup(payments[0]))).to.equal('answer')
    expect(codeOf(await sale.lookup(payments[1]))).to.equal('rate_limited')
    await sale.restart(1)
    expect(codeOf(await sale.lookup(payments[1]))).to.equal('answer')
  })

  it('[6.2.6] does not count a payment that could not be stored', async () => {
    await sale.restart(1)
    const { services } = sale.context
    const { log } = services
    services.log = replaceMethods(log, { claim: () => Promise.reject(new Error('the disk is full')) })
    const [payment] = await paymentsOf(1)
    expect(codeOf(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
    services.log = log
    expect(codeOf(await sale.lookup(payment))).to.equal('answer')
  })

  for (const [when, isFull] of [
    ['does not count', false],
    ['does not refuse, while it is reached,', true],
  ] as const)
    it(`[6.2.1] ${when} a payment that another process sells meanwhile`, async () => {
      await sale.restart(1)
      const own = sale.context
      const { verify } = sale.script
      const [payment, before] = await paymentsOf(2)
      if (isFull) expect(codeOf(await sale.lookup(before))).to.equal('answer')
      sale.script.verify = async (payload) => {
        sale.script.verify = verify
        sale.context = { ...own, sales: new SalesLimit({ perMinute: 1, clock: sale.clock }) }
        // Another process has a mutex of its own.
        sale.context.paymentMutex = new KeyedMutex()
        expect(codeOf(await sale.lookup(payment))).to.equal('answer')
        sale.context = own
        return verify(payload)
      }
      const settled = sale.count('settle')
      expect(codeOf(await sale.lookup(payment))).to.equal('answer')
      expect(sale.count('settle')).to.equal(settled + 1)
      expect(own.sales.count()).to.equal(isFull ? 1 : 0)
    })
})
