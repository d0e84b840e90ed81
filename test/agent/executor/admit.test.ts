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

  const invalid = async () => ({ isValid: false, invalidReason: 'insufficient_funds' })
  const payerOf = ({ payload }: { payload: unknown }) =>
    (payload as { authorization: { from: string } }).authorization.from
  const valid: TestSeller['script']['verify'] = async (payload) => ({ isValid: true, payer: payerOf(payload) })
  const stranger = () => signedPayment({ key: generatePrivateKey() })

  it('takes nobody for a payer whose name anybody can write: a contract wallet is a stranger', async () => {
    test.limitTo(3)
    const known = generatePrivateKey()
    expect(await code(test.lookup(await signedPayment({ key: known })))).to.equal('answer')
    test.script.verify = invalid
    const codes = []
    for (let forged = 0; forged < 5; forged += 1) {
      const payment = await signedPayment({ key: known })
      payment.payload.signature = `${payment.payload.signature}00`
      codes.push(await code(test.lookup(payment)))
    }
    const refused = Array.from({ length: 3 }, () => 'payment_rejected')
    expect(codes).to.deep.equal([...refused, 'rate_limited', 'rate_limited'])
  })

  it('takes a payer for a stranger for a minute whose payment has come to nothing', async () => {
    test.limitTo(2)
    const known = generatePrivateKey()
    expect(await code(test.lookup(await signedPayment({ key: known })))).to.equal('answer')
    test.script.verify = invalid
    const codes = []
    for (let failure = 0; failure < 4; failure += 1)
      codes.push(await code(test.lookup(await signedPayment({ key: known }))))
    // The first as himself, two as a stranger.
    expect(codes).to.deep.equal(['payment_rejected', 'payment_rejected', 'payment_rejected', 'rate_limited'])
    test.script.verify = valid
    const other = generatePrivateKey()
    test.now = () => new Date(Date.now() + MINUTE)
    expect(await code(test.lookup(await signedPayment({ key: known })))).to.equal('answer')
    expect(await code(test.lookup(await signedPayment({ key: other })))).to.equal('answer')
  })

  it('keeps the places of payers for what is sold: a payment for nothing is a failed one', async () => {
    test.limitTo(2)
    await test.import()
    const known = generatePrivateKey()
    expect(await code(test.lookup(await signedPayment({ key: known })))).to.equal('answer')
    const payment = await stranger()
    const codes = []
    for (let attempt = 0; attempt < 3; attempt += 1) codes.push(await code(test.lookup(payment, '99999999')))
    expect(codes).to.deep.equal(['company_not_found', 'company_not_found', 'rate_limited'])
    expect(await code(test.lookup(await signedPayment({ key: known })))).to.equal('answer')
  })

  it('lets a payer in while strangers wait for the facilitator', async () => {
    test.limitTo(2)
    const known = generatePrivateKey()
    expect(await code(test.lookup(await signedPayment({ key: known })))).to.equal('answer')
    test.now = () => new Date(Date.now() + MINUTE)
    let end = () => undefined as void
    const ended = new Promise<void>((resolve) => (end = resolve))
    test.script.verify = async () => ended.then(invalid)
    const waiting = [test.lookup(await stranger()), test.lookup(await stranger())]
    while (test.calls.filter((call) => call === 'verify').length < 3) await new Promise(setImmediate)
    test.script.verify = valid
    expect(await code(test.lookup(await stranger()))).to.equal('rate_limited')
    expect(await code(test.lookup(await signedPayment({ key: known })))).to.equal('answer')
    end()
    expect(await Promise.all(waiting.map(code))).to.deep.equal(['payment_rejected', 'payment_rejected'])
  })

  it('counts a verification that says nothing as a failed one', async () => {
    test.limitTo(2)
    test.script.verify = () => Promise.reject(new Error('502'))
    const codes = []
    for (let attempt = 0; attempt < 3; attempt += 1) codes.push(await code(test.lookup(await stranger())))
    const unavailable = 'payment_verification_unavailable'
    expect(codes).to.deep.equal([unavailable, unavailable, 'rate_limited'])
  })

  it('refuses after verification what would be one payer too many, and settles nothing', async () => {
    test.limitTo(1)
    let end = () => undefined as void
    const ended = new Promise<void>((resolve) => (end = resolve))
    test.script.verify = async (payload) => ended.then(() => valid(payload))
    const first = test.lookup(await stranger())
    while (!test.calls.includes('verify')) await new Promise(setImmediate)
    // Elsewhere another payer takes the last place.
    const other = test.seller.rateLimit.enter('paid')
    expect('kind' in other).to.equal(false)
    end()
    expect(await code(first)).to.equal('rate_limited')
    expect(test.calls).to.not.include('settle')
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
