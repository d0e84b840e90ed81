/** The shared rate limit in a sale: who is asked about whom, and what is counted as what. */
import { expect } from 'chai'
import { generatePrivateKey } from 'viem/accounts'
import { header, signedPayment } from '../../support/payments.ts'
import { TestSeller } from '../../support/seller.ts'

const MINUTE = 60_000

describe('the rate limit in a sale', () => {
  let test: TestSeller

  beforeEach(async () => {
    test = await TestSeller.open()
  })
  afterEach(() => test.close())

  const code = async (asked: ReturnType<TestSeller['lookup']>) => {
    const outcome = await asked
    return outcome.kind === 'answer' ? 'answer' : outcome.refusal.code
  }

  it('lets a payer in when the unpaid have filled the minute, and asks nobody about the others', async () => {
    test.limitTo(2)
    const codes = [await code(test.lookup()), await code(test.lookup()), await code(test.lookup())]
    expect(codes).to.deep.equal(['payment_required', 'payment_required', 'rate_limited'])
    expect(test.calls).to.deep.equal([])
    expect(await code(test.lookup(await signedPayment()))).to.equal('answer')
    expect(await code(test.lookup(await signedPayment()))).to.equal('answer')
    const before = test.calls.length
    expect(await code(test.lookup(await signedPayment()))).to.equal('rate_limited')
    expect(test.calls.length).to.equal(before)
  })

  it('counts bad payments as unpaid, whether we or the facilitator refuse them', async () => {
    test.limitTo(2)
    expect(await code(test.ask({ operation: 'lookup', input: { company_number: '1' } }, ['no payment']))).to.equal(
      'dataset_unavailable',
    )
    expect(await code(test.lookup(await signedPayment({ authorization: { value: '999' } })))).to.equal(
      'payment_invalid',
    )
    test.script.verify = async () => ({ isValid: false, invalidReason: 'insufficient_funds' })
    expect(await code(test.lookup(await signedPayment()))).to.equal('payment_rejected')
    expect(await code(test.lookup(await signedPayment()))).to.equal('payment_rejected')
    expect(await code(test.lookup())).to.equal('rate_limited')
    expect(await code(test.lookup(await signedPayment({ authorization: { value: '999' } })))).to.equal('rate_limited')
  })

  it('asks nobody about a stranger once so many payments have failed, sells to who has paid, and repeats for nothing', async () => {
    test.limitTo(3)
    const known = generatePrivateKey()
    const bought = await signedPayment({ key: known })
    expect(await code(test.lookup(bought))).to.equal('answer')
    test.now = () => new Date(Date.now() + MINUTE)
    test.script.verify = async () => ({ isValid: false, invalidReason: 'insufficient_funds' })
    for (let stranger = 0; stranger < 3; stranger += 1) {
      expect(await code(test.lookup(await signedPayment({ key: generatePrivateKey() })))).to.equal('payment_rejected')
    }
    test.script.verify = async ({ payload }) => ({
      isValid: true,
      payer: (payload as { authorization: { from: string } }).authorization.from,
    })
    const before = test.calls.length
    const refused = await test.lookup(await signedPayment({ key: generatePrivateKey() }))
    expect(refused).to.have.nested.property('refusal.code', 'rate_limited')
    expect(refused).to.have.nested.property('refusal.retryAfterSeconds').that.is.within(59, 60)
    expect(test.calls.length, 'nobody was asked').to.equal(before)
    expect(await code(test.lookup(await signedPayment({ key: known })))).to.equal('answer')
    expect(await code(test.lookup(bought))).to.equal('answer')
    test.now = () => new Date(Date.now() + 2 * MINUTE)
    expect(await code(test.lookup(await signedPayment({ key: generatePrivateKey() })))).to.equal('answer')
  })

  it('takes a payer for a stranger while the log can not say', async () => {
    test.limitTo(1)
    const { log } = test.seller.desk
    test.seller.desk.log = { ...log, hasPaid: () => Promise.reject(new Error('EIO')) }
    expect(await code(test.lookup(await signedPayment()))).to.equal('answer')
    expect(test.reports).to.deep.equal(['payer_unknown'])
  })

  it('does not count a replay, nor refuse one', async () => {
    test.limitTo(1)
    const payment = await signedPayment()
    expect(await code(test.lookup(payment))).to.equal('answer')
    expect(await code(test.lookup())).to.equal('rate_limited')
    for (let attempt = 0; attempt < 5; attempt += 1) expect(await code(test.lookup(payment))).to.equal('answer')
    test.now = () => new Date(Date.now() + MINUTE)
    expect(await code(test.lookup(payment))).to.equal('answer')
    expect(await code(test.lookup())).to.equal('payment_required')
  })

  it('does not count what a missing dataset refuses', async () => {
    test.limitTo(1)
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await code(test.lookup(undefined, '1'))).to.equal('dataset_unavailable')
      expect(await code(test.lookup(await signedPayment(), '1'))).to.equal('dataset_unavailable')
    }
    expect(await code(test.lookup())).to.equal('payment_required')
  })

  it('refuses with the payment kept good: the same one buys when there is a place', async () => {
    test.limitTo(1)
    await test.lookup(await signedPayment())
    const payment = await signedPayment()
    const refused = await test.lookup(payment)
    expect(refused).to.deep.include({ kind: 'refused' })
    expect(await test.records()).to.deep.equal([])
    test.now = () => new Date(Date.now() + MINUTE)
    expect(await code(test.lookup(payment))).to.equal('answer')
    expect(header(payment)).to.be.a('string')
  })
})
