/**
 * Requests with a payment that differs from the recorded one: what they cost, and that they cannot lock the buyer out.
 */
import { expect } from 'chai'
import { WEIGHTS } from '../../../agent/sale/limits/address-budget.ts'
import { signedPayment, withPaymentId, type WirePayment } from '../../support/payments.ts'
import { codeOf, useSale } from '../../support/sale-harness.ts'

const CONFLICT = 'payment_replay_conflict'

describe('a guess of what a recorded payment has bought', () => {
  const sale = useSale()
  let payment: WirePayment

  beforeEach(async () => {
    const frozen = new Date()
    sale.now = () => frozen
    payment = await signedPayment()
    sale.client = 'buyer'
    expect(codeOf(await sale.lookup(payment))).to.equal('answer')
  })

  /** The payment in another form. Each form has another hash. */
  const guess = async (client: string, form: number) => {
    sale.client = client
    return codeOf(await sale.lookup({ ...payment, extensions: { form } }))
  }
  const replayFrom = async (client: string) => {
    sale.client = client
    return codeOf(await sale.lookup(payment))
  }

  it('[5.4.3] costs as much as a search of logs, and does not delay the buyer at another address', async () => {
    sale.budgetOf(2 * WEIGHTS.guess)
    expect([await guess('attacker', 1), await guess('attacker', 2), await guess('attacker', 3)]).to.deep.equal([
      CONFLICT,
      CONFLICT,
      'rate_limited',
    ])
    expect(await replayFrom('moved buyer')).to.equal('answer')
  })

  it('[6.2.3] costs nothing if it is right, also while the outcome of the payment is not known', async () => {
    sale.budgetOf(WEIGHTS.payment)
    payment = await signedPayment()
    sale.script.settle = () => Promise.reject(new Error('reset'))
    for (let attempt = 0; attempt < 10; attempt += 1)
      expect(await replayFrom('buyer')).to.equal('payment_outcome_unknown')
  })

  it('[5.6.3, 8.15] waits for its settlement in four requests, which are verified and continue in turns', async () => {
    payment = await signedPayment()
    const settlement = sale.block('settle')
    const [before, first] = [sale.verified, replayFrom('buyer')]
    await settlement.arrived(1)
    const repeated = Array.from({ length: 3 }, () => replayFrom('attacker'))
    expect(await replayFrom('attacker')).to.equal('payment_outcome_unknown')
    settlement.release()
    expect(new Set(await Promise.all([first, ...repeated]))).to.deep.equal(new Set(['answer']))
    expect([sale.verified - before, sale.turns]).to.deep.equal([5, 3])
    await replayFrom('attacker')
    expect([sale.verified - before, sale.turns]).to.deep.equal([5, 3])
  })

  it('[5.4.3] is refused without a comparison if the payment has a payment id', async () => {
    payment = withPaymentId(await signedPayment())
    expect(await replayFrom('buyer')).to.equal('answer')
    const { extensions: _, ...rebuilt } = payment
    for (let attempt = 0; attempt < 25; attempt += 1) {
      sale.client = `attacker ${attempt}`
      expect(codeOf(await sale.lookup(rebuilt))).to.equal(CONFLICT)
    }
    expect(await replayFrom('moved buyer')).to.equal('answer')
  })
})

describe('the verified payments of a payer', () => {
  const sale = useSale()

  it('[6.2.5] are sold one after the other if the balance pays for one; the next one gets 429', async () => {
    sale.script.observe = async () => ({ balance: 1_000n })
    const settlement = sale.block('settle')
    const first = sale.lookup(await signedPayment())
    await settlement.arrived(1)
    const second = await signedPayment()
    expect(codeOf(await sale.lookup(second))).to.equal('rate_limited')
    expect(sale.count('settle')).to.equal(1)
    settlement.release()
    expect([codeOf(await first), codeOf(await sale.lookup(second))]).to.deep.equal(['answer', 'answer'])
  })
})
