/** A payment without a record whose nonce is used, or that comes too late: every state of the chain, and the limits. */
import { expect } from 'chai'
import type { NonceState } from '../../../agent/settlement/decide.ts'
import { replaceMethods } from '../../support/replace-methods.ts'
import { signedPayment, withPaymentId, type WirePayment } from '../../support/payments.ts'
import { WEIGHTS } from '../../../agent/sale/limits/address-budget.ts'
import { TRANSACTION, useSale, summarize } from '../../support/sale-harness.ts'
import { openIdentities, recordsOf } from '../../support/records.ts'
import { listUnrecorded } from '../../../store/log/unrecorded.ts'

const OTHER_ADDRESS = '0x00000000000000000000000000000000000000d3'
const SETTLED = 'payment_already_settled'
const UNAVAILABLE = 'payment_verification_unavailable'
const UNKNOWN = 'payment_outcome_unknown'
const USED = 'payment_rejected authorization_used'
const LATE = 'payment_invalid invalid_exact_evm_payload_authorization_valid_before'

type Shown = (payment: WirePayment) => NonceState

const usedBy =
  (change: { to?: string } = {}): Shown =>
  ({ payload: { authorization } }) => {
    const { from, to } = authorization
    return { nonce: 'used', transfer: { from, to, value: 1000n, transaction: TRANSACTION, ...change }, isFinal: true }
  }
/** Free in a block at this distance from `validBefore`. */
const free =
  (seconds: number): Shown =>
  ({ payload: { authorization } }) => ({
    nonce: 'free',
    time: BigInt(Number(authorization.validBefore) + seconds),
    finalTime: 0n,
  })

const UNREADABLE: Shown = () => {
  throw new Error('no node')
}

/** What the chain shows of a used nonce, and the answer. The test of `decide` has the other transfers. */
const STATES: [name: string, shown: Shown, answer: string][] = [
  ['the transfer', usedBy(), SETTLED],
  ['a transfer to another receiver', usedBy({ to: OTHER_ADDRESS }), USED],
  ['a used nonce without a log', () => ({ nonce: 'unclear' }), UNKNOWN],
  ['nothing', UNREADABLE, UNAVAILABLE],
]

/** The same for a payment that comes after `validBefore`. */
const LATE_STATES: typeof STATES = [
  ['the transfer', usedBy(), SETTLED],
  ['a free nonce in a block before validBefore', free(-1), UNAVAILABLE],
  ['a free nonce in a block at validBefore', free(0), LATE],
]

const seconds = (fromNow: number) => String(Math.floor(Date.now() / 1000) + fromNow)
const latePayment = () => signedPayment({ authorization: { validBefore: seconds(-60) } })

describe('[5.7.12] a payment without a record', () => {
  const sale = useSale()

  const ask = async (payment: WirePayment) => summarize(await sale.lookup(payment))
  const show = (shown: Shown, payment: WirePayment) => {
    sale.script.nonceState = async () => shown(payment)
    sale.script.observe = async () => {
      const nonceState = shown(payment)
      return nonceState.nonce === 'free' ? { time: nonceState.time } : { isNonceUsed: true }
    }
  }

  for (const [name, shown, answer] of STATES)
    it(`has its answer if its nonce is used and the chain shows ${name}`, async () => {
      const payment = await signedPayment()
      show(shown, payment)
      sale.script.observe = async () => ({ isNonceUsed: true })
      expect(await ask(payment)).to.equal(answer)
      expect(sale.count('settle')).to.equal(0)
    })

  for (const [name, shown, answer] of LATE_STATES)
    it(`[5.7.16] gets ${answer} after validBefore if the chain shows ${name}`, async () => {
      const payment = await latePayment()
      show(shown, payment)
      expect(await ask(payment)).to.equal(answer)
      expect(sale.count('verify') + sale.count('settle')).to.equal(0)
    })

  for (const invalidReason of ['invalid_exact_evm_nonce_already_used', 'insufficient_funds'])
    it(`is searched if the nonce is used after the facilitator has refused for ${invalidReason}`, async () => {
      const payment = await signedPayment()
      sale.script.verify = async () => ({ isValid: false, invalidReason })
      show(usedBy(), payment)
      sale.script.observe = async () => ({ isNonceUsed: sale.count('observe') > 1 })
      expect(await ask(payment)).to.equal(SETTLED)
    })

  it('gets 503 if the nonce cannot be read again after a refusal of the facilitator', async () => {
    const payment = await signedPayment()
    sale.script.observe = async () => {
      if (sale.count('observe') > 1) throw new Error('no node')
      return {}
    }
    sale.script.verify = async () => ({ isValid: false, invalidReason: 'insufficient_funds' })
    expect(await ask(payment)).to.equal(UNAVAILABLE)
  })

  it('[5.4.4] is found although its record was removed and its id belongs to a later payment', async () => {
    const first = withPaymentId(await signedPayment())
    const later = { ...(await signedPayment()), extensions: first.extensions }
    expect(await ask(first)).to.equal('answer')
    const record = (await recordsOf(sale.context.services.log))[0]!
    await sale.context.services.log.advance(record, { state: 'confirmed', updated_at: '2026-01-01T00:00:00.000Z' })
    await sale.context.services.log.prune({ before: new Date('2026-01-02'), max: 1 })
    expect(await ask(later)).to.equal('answer')
    expect(await ask(first)).to.equal('payment_replay_conflict')
    sale.pass(3_600_000)
    show(free(0), first)
    expect(await ask(first)).to.equal(LATE)
    show(usedBy(), first)
    expect(await Promise.all([ask(first), ask(first)])).to.deep.equal([SETTLED, SETTLED])
    sale.script.observe = async () => Promise.reject(new Error('no node'))
    expect(await ask(first)).to.equal(UNAVAILABLE)
    expect(await ask(later)).to.equal('answer')
  })

  it('is not searched before its signature is checked', async () => {
    const forged = await signedPayment({ authorization: { validBefore: seconds(-60) }, signed: { value: '1001' } })
    expect(await ask(forged)).to.equal('payment_rejected invalid_exact_evm_payload_signature')
    expect(sale.calls).to.deep.equal(['observe'])
  })

  it('is listed and reported once, however often it is sent', async () => {
    const payment = await latePayment()
    show(usedBy(), payment)
    for (let attempt = 0; attempt < 3; attempt += 1) expect(await ask(payment)).to.equal(SETTLED)
    expect(sale.reports).to.deep.equal(['payment_without_record'])
    const [listed, ...others] = await listUnrecorded(sale.context.services.log)
    expect(others).to.deep.equal([])
    expect(listed).to.include({ transaction: TRANSACTION })
    expect(listed?.identity).to.contain(payment.payload.authorization.nonce)
    expect(await openIdentities(sale.context.services.log)).to.deep.equal([])
  })

  it('gets the same answer if it cannot be listed', async () => {
    const payment = await latePayment()
    show(usedBy(), payment)
    const { log } = sale.context.services
    const compareAndSet = () => Promise.reject(new Error('disk full'))
    const document = <Value>(key: string) => replaceMethods(log.document<Value>(key), { compareAndSet })
    sale.context.services = { ...sale.context.services, log: replaceMethods(log, { document }) }
    expect(await ask(payment)).to.equal(SETTLED)
    expect(sale.reports).to.deep.equal(['unrecorded_payment_not_listed'])
  })

  describe('[6.2.2] with a budget for two searches', () => {
    beforeEach(() => {
      const frozen = new Date()
      sale.now = () => frozen
      sale.budgetOf(2 * (WEIGHTS.payment + WEIGHTS.logSearch))
    })

    it('is searched twice for an address, and still for another address', async () => {
      const payment = await latePayment()
      show(usedBy(), payment)
      const codes = [await ask(payment), await ask(payment), await ask(payment)]
      expect(codes).to.deep.equal([SETTLED, SETTLED, 'rate_limited'])
      expect(sale.count('observe')).to.equal(2)
      sale.client = '192.0.2.66'
      expect(await ask(payment)).to.equal(SETTLED)
    })

    it('is not searched more often if an address sends several payments at once', async () => {
      const payments = await Promise.all(Array.from({ length: 5 }, latePayment))
      show(usedBy(), payments[0]!)
      const codes = await Promise.all(payments.map(ask))
      // Five payments are paid for first, and what is left of the budget pays for one search.
      expect(codes.filter((code) => code === 'rate_limited')).to.have.lengthOf(4)
      expect(sale.count('observe')).to.equal(5)
    })

    it('costs nothing while the chain cannot be read', async () => {
      const payment = await latePayment()
      show(usedBy(), payment)
      sale.script.nonceState = () => Promise.reject(new Error('ECONNREFUSED'))
      for (let attempt = 0; attempt < 5; attempt += 1) expect(await ask(payment)).to.equal(UNAVAILABLE)
      sale.script.observe = () => Promise.reject(new Error('ECONNREFUSED'))
      for (let attempt = 0; attempt < 20; attempt += 1) expect(await ask(payment)).to.equal(UNAVAILABLE)
      expect(sale.reports).to.include('chain_unavailable')
    })

    it('is read without a search if the nonce is free', async () => {
      for (let other = 0; other < 12; other += 1) {
        const payment = await latePayment()
        show(free(0), payment)
        expect(await ask(payment)).to.equal(LATE)
      }
      expect(await ask(await latePayment())).to.equal('rate_limited')
    })
  })
})
