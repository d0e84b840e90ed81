/** The limit of requests with a recorded payment that has no payment id. */
import { expect } from 'chai'
import { ReplayLimit } from '../../../agent/executor/replay-limit.ts'
import { signedPayment, withPaymentId, type WirePayment } from '../../support/payments.ts'
import { codeOf, SaleHarness } from '../../support/sale-harness.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
describe('the limit of replays', () => {
  let time: number
  let limit: ReplayLimit

  beforeEach(() => {
    time = START
    limit = new ReplayLimit(() => new Date(time))
  })

  /** The seconds of `Retry-After`, or 0 when the request is admitted. */
  const enter = (payment = 'a', client = 'one') => limit.enter(payment, client)?.refusal.retryAfterSeconds ?? 0
  const enterTimes = (count: number, payment = 'a') => Array.from({ length: count }, () => enter(payment))

  it('[6.2.7] admits ten requests, then one every six seconds', () => {
    expect(enterTimes(10)).to.deep.equal(Array(10).fill(0))
    expect(enter()).to.equal(6)
    time += 5_999
    expect(enter()).to.equal(1)
    time += 1
    expect(enter()).to.equal(0)
    expect(enter()).to.equal(6)
    time += 12_000
    expect([enter(), enter(), enter()]).to.deep.equal([0, 0, 6])
  })

  it('[6.2.7] admits ten requests again after a minute', () => {
    enterTimes(11)
    time += 60_000
    expect(enterTimes(11)).to.deep.equal([...Array<number>(10).fill(0), 6])
  })

  it('[6.2.7] counts each payment and each client separately', () => {
    enterTimes(11)
    expect(enter('b')).to.equal(0)
    expect(enter('a', 'two')).to.equal(0)
  })

  it('[6.2.9] refuses all requests of a client after ten conflicts with any payments', () => {
    for (let count = 0; count < 9; count += 1) limit.countForAll('one')
    expect(enter('b')).to.equal(0)
    limit.countForAll('one')
    expect(enter('b')).to.equal(6)
    expect(enter('b', 'two')).to.equal(0)
    time += 6_000
    expect(enter('b')).to.equal(0)
  })

  it('[6.2.7] refuses for a minute at most after the clock was set back', () => {
    enterTimes(10)
    time -= 86_400_000
    expect(enter()).to.be.within(1, 60)
    time += 60_000
    expect(enter()).to.equal(0)
  })
})

describe('a recorded payment', () => {
  let sale: SaleHarness
  let payment: WirePayment

  beforeEach(async () => {
    sale = await SaleHarness.open()
    const frozen = new Date()
    sale.now = () => frozen
    await sale.import()
    payment = await signedPayment()
  })
  afterEach(() => sale.close())

  const ask = async (paid: WirePayment, companyNumber: string) => codeOf(await sale.lookup(paid, companyNumber))
  async function askTimes(count: number, paid: WirePayment, companyNumber: string): Promise<string[]> {
    const codes = []
    for (let attempt = 0; attempt < count; attempt += 1) codes.push(await ask(paid, companyNumber))
    return codes
  }

  it('[6.2.7, 6.2.10] is refused in the same way for right and wrong guesses after ten requests, and stays available to other clients', async () => {
    expect(await ask(payment, '73848')).to.equal('answer')
    sale.client = '192.0.2.66'
    expect(await askTimes(10, payment, '104547')).to.deep.equal(Array(10).fill('payment_replay_conflict'))
    expect(await ask(payment, '104547')).to.equal('rate_limited')
    expect(await ask(payment, '73848')).to.equal('rate_limited')
    sale.client = '192.0.2.1'
    expect(await ask(payment, '73848')).to.equal('answer')
  })

  it('[6.2.7] is replayed without a limit if it has a payment id, and cannot be guessed without that id', async () => {
    const named = withPaymentId(payment)
    expect(await askTimes(30, named, '73848')).to.deep.equal(Array(30).fill('answer'))
    expect(await askTimes(30, payment, '73848')).to.deep.equal(Array(30).fill('payment_replay_conflict'))
    expect(await askTimes(2, withPaymentId(payment), '73848')).to.deep.equal(Array(2).fill('payment_replay_conflict'))
  })

  it('[6.2.9, 6.2.10] is limited by ten conflicts of the client with other payments', async () => {
    const others = await Promise.all(Array.from({ length: 10 }, () => signedPayment()))
    for (const paid of [payment, ...others]) expect(await ask(paid, '73848')).to.equal('answer')
    sale.client = '192.0.2.66'
    for (const paid of others) expect(await ask(paid, '104547')).to.equal('payment_replay_conflict')
    expect(await ask(payment, '73848')).to.equal('rate_limited')
  })
})
