/** The rate limit of a sale: which requests count, and as which kind. */
import { expect } from 'chai'
import { generatePrivateKey } from 'viem/accounts'
import { signedPayment } from '../../support/payments.ts'
import { SaleHarness } from '../../support/sale-harness.ts'

const MINUTE_MS = 60_000
const REJECTED_THREE_TIMES = Array<string>(3).fill('payment_rejected')

describe('the rate limit of a sale', () => {
  let sale: SaleHarness
  let valid: SaleHarness['script']['verify']

  beforeEach(async () => {
    sale = await SaleHarness.open()
    valid = sale.script.verify
  })
  afterEach(() => sale.close())

  const codeOf = async (performed: ReturnType<SaleHarness['lookup']>) => {
    const outcome = await performed
    return outcome.kind === 'answer' ? 'answer' : outcome.refusal.code
  }
  const lookup = (payment?: unknown, companyNumber?: string) => codeOf(sale.lookup(payment, companyNumber))
  const payFrom = async (key: `0x${string}`) => lookup(await signedPayment({ key }))
  /** The codes of so many lookups, one after another. */
  async function repeat(count: number, look: () => Promise<string>): Promise<string[]> {
    const codes = []
    for (let attempt = 0; attempt < count; attempt += 1) codes.push(await look())
    return codes
  }
  const newPayer = () => signedPayment({ key: generatePrivateKey() })
  const badAmount = () => signedPayment({ authorization: { value: '999' } })
  const afterMinutes = (minutes: number) => (sale.now = () => new Date(Date.now() + minutes * MINUTE_MS))

  const invalid = async () => ({ isValid: false, invalidReason: 'insufficient_funds' })

  /** A payer with a settled payment, whose slot has expired. */
  async function knownPayer() {
    const key = generatePrivateKey()
    expect(await payFrom(key)).to.equal('answer')
    return key
  }

  it('[6.2.2] admits payments when unpaid requests fill the window, and makes no remote call for refused ones', async () => {
    sale.limitTo(2)
    expect([await lookup(), await lookup(), await lookup()]).to.deep.equal([
      'payment_required',
      'payment_required',
      'rate_limited',
    ])
    expect(sale.calls).to.deep.equal([])
    expect(await lookup(await signedPayment())).to.equal('answer')
    expect(await lookup(await signedPayment())).to.equal('answer')
    const before = sale.calls.length
    expect(await lookup(await signedPayment())).to.equal('rate_limited')
    expect(sale.calls.length).to.equal(before)
  })

  it('[6.2.5] counts payments that fail the local checks as quotes, and no others', async () => {
    sale.limitTo(2)
    const withoutDataset = sale.perform({ operation: 'lookup', input: { company_number: '1' } }, ['no payment'])
    expect(await codeOf(withoutDataset)).to.equal('dataset_unavailable')
    expect(await lookup(await badAmount())).to.equal('payment_invalid')
    sale.script.verify = invalid
    expect(await lookup(await signedPayment())).to.equal('payment_rejected')
    expect(await lookup(await signedPayment())).to.equal('payment_rejected')
    expect(await lookup(await badAmount())).to.equal('payment_invalid')
    expect(await lookup()).to.equal('rate_limited')
    expect(await lookup(await badAmount())).to.equal('rate_limited')
    expect(await lookup(await signedPayment())).to.equal('rate_limited')
    sale.client = '192.0.2.2'
    expect(await lookup()).to.equal('payment_required')
  })

  it('[6.2.5] gives a known payer a quote after another address has used up its quotes', async () => {
    sale.limitTo(120)
    const known = await knownPayer()
    expect(await repeat(121, () => lookup())).to.include('rate_limited')
    sale.client = '192.0.2.2'
    expect(await lookup()).to.equal('payment_required')
    expect(await payFrom(known)).to.equal('answer')
  })

  it('[6.2.3] refuses new payers after too many failed payments, and still admits known payers and replays', async () => {
    sale.limitTo(3)
    const known = generatePrivateKey()
    const bought = await signedPayment({ key: known })
    expect(await lookup(bought)).to.equal('answer')
    afterMinutes(1)
    sale.script.verify = invalid
    expect(await repeat(3, async () => lookup(await newPayer()))).to.deep.equal(REJECTED_THREE_TIMES)
    sale.script.verify = valid
    const before = sale.calls.length
    const refused = await sale.lookup(await newPayer())
    expect(refused).to.have.nested.property('refusal.code', 'rate_limited')
    expect(refused).to.have.nested.property('refusal.retryAfterSeconds').that.is.within(59, 60)
    expect(sale.calls.length, 'no remote call').to.equal(before)
    expect(await payFrom(known)).to.equal('answer')
    expect(await lookup(bought)).to.equal('answer')
    afterMinutes(2)
    expect(await lookup(await newPayer())).to.equal('answer')
  })

  it('treats a payer with a contract wallet signature as new, because anyone can name that payer', async () => {
    sale.limitTo(3)
    const known = await knownPayer()
    sale.script.observe = async () => ({ codeBytes: 23 })
    sale.script.verify = invalid
    const codes = await repeat(5, async () => {
      const payment = await signedPayment({ key: known })
      payment.payload.signature = `${payment.payload.signature}00`
      return lookup(payment)
    })
    expect(codes).to.deep.equal([...REJECTED_THREE_TIMES, 'rate_limited', 'rate_limited'])
  })

  it('treats a known payer as new for a minute after a failed payment', async () => {
    sale.limitTo(2)
    const known = await knownPayer()
    sale.script.verify = invalid
    // One failure as a known payer, two as a new one.
    expect(await repeat(4, () => payFrom(known))).to.deep.equal([...REJECTED_THREE_TIMES, 'rate_limited'])
    sale.script.verify = valid
    afterMinutes(1)
    expect(await payFrom(known)).to.equal('answer')
    expect(await lookup(await newPayer())).to.equal('answer')
  })

  it('counts a verified payment for which nothing is sold as failed', async () => {
    sale.limitTo(2)
    await sale.import()
    const known = await knownPayer()
    const payment = await newPayer()
    const codes = await repeat(3, () => lookup(payment, '99999999'))
    expect(codes).to.deep.equal(['company_not_found', 'company_not_found', 'rate_limited'])
    expect(await payFrom(known)).to.equal('answer')
  })

  it('admits known payers while payments of new payers are being verified', async () => {
    sale.limitTo(2)
    const known = await knownPayer()
    afterMinutes(1)
    sale.script.verify = invalid
    const { release, arrived } = sale.block('verify')
    const waiting = [sale.lookup(await newPayer()), sale.lookup(await newPayer())]
    await arrived(2)
    sale.script.verify = valid
    expect(await lookup(await newPayer())).to.equal('rate_limited')
    expect(await payFrom(known)).to.equal('answer')
    release()
    expect(await Promise.all(waiting.map(codeOf))).to.deep.equal(['payment_rejected', 'payment_rejected'])
  })

  it('counts an unavailable verification as failed', async () => {
    sale.limitTo(2)
    sale.script.verify = () => Promise.reject(new Error('502'))
    const codes = await repeat(3, async () => lookup(await newPayer()))
    const unavailable = 'payment_verification_unavailable'
    expect(codes).to.deep.equal([unavailable, unavailable, 'rate_limited'])
  })

  it('checks the limit of paid requests again after verification, before anything is settled', async () => {
    sale.limitTo(1)
    const { release, arrived } = sale.block('verify')
    const first = sale.lookup(await newPayer())
    await arrived(1)
    // Another request takes the last paid slot.
    expect((await sale.context.rateLimit.enter('paid')).kind).to.equal('slot')
    release()
    expect(await codeOf(first)).to.equal('rate_limited')
    expect(sale.calls).to.not.include('settle')
  })

  it('treats payers as new while the log cannot be read', async () => {
    sale.limitTo(1)
    const { log } = sale.context.payments
    sale.context.payments.log = { ...log, hasPaid: () => Promise.reject(new Error('EIO')) }
    expect(await lookup(await signedPayment())).to.equal('answer')
    expect(sale.reports).to.deep.equal(['payer_unknown'])
  })

  it('[5.6.2] neither counts nor refuses replays', async () => {
    sale.limitTo(1)
    const payment = await signedPayment()
    expect(await lookup(payment)).to.equal('answer')
    expect(await lookup(await signedPayment())).to.equal('rate_limited')
    expect(await repeat(5, () => lookup(payment))).to.deep.equal(Array<string>(5).fill('answer'))
    afterMinutes(1)
    expect(await lookup(payment)).to.equal('answer')
    expect(await lookup()).to.equal('payment_required')
  })

  it('does not count requests that are refused because of the dataset', async () => {
    sale.limitTo(1)
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await lookup(undefined, '1')).to.equal('dataset_unavailable')
      expect(await lookup(await signedPayment(), '1')).to.equal('dataset_unavailable')
    }
    expect(await lookup()).to.equal('payment_required')
  })

  it('does not count a request whose answer fails with an error', async () => {
    sale.limitTo(1)
    await sale.import()
    const { catalog } = sale.context
    const dataset = catalog.current()
    if (!dataset) throw new Error('The dataset is not loaded')
    const snapshot = { ...dataset.snapshot, find: () => raise(new Error('EIO')) }
    sale.context.catalog = { ...catalog, current: () => ({ ...dataset, snapshot }) }
    const failure = await sale.lookup(await newPayer(), '73848').catch((error: unknown) => error)
    expect(failure).to.be.an('error').with.property('message', 'EIO')
    sale.context.catalog = catalog
    expect(await lookup(await newPayer(), '73848')).to.equal('answer')
  })

  it('[5.5.1] leaves a payment usable that it refuses', async () => {
    sale.limitTo(1)
    await sale.lookup(await signedPayment())
    const payment = await signedPayment()
    expect(await lookup(payment)).to.equal('rate_limited')
    expect(await sale.unsettledRecords()).to.deep.equal([])
    afterMinutes(1)
    expect(await lookup(payment)).to.equal('answer')
  })
})

function raise(error: Error): never {
  throw error
}
