/** Receipts of records: their claims, when they are issued, kept and added, and what happens if that fails. */
import { expect } from 'chai'
import { decodePaymentResponseHeader } from '@x402/core/http'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import type { NamedOperation } from '../../../agent/operation/operation.ts'
import { jsonDigest, OPERATION_BYTES_MAX } from '../../../agent/payment/receipt/claims.ts'
import { canonicalJson } from '../../../base/canonical.ts'
import { settledResponse } from '../../../agent/payment/recorded-payment.ts'
import { addMissingReceipt, receiptFor } from '../../../agent/settlement/receipts.ts'
import { replaceMethods } from '../../support/replace-methods.ts'
import { openIdentities, makeRecord, storeRecord } from '../../support/records.ts'
import { TRANSACTION, useSale } from '../../support/sale-harness.ts'
import { claimsOf, receiptIn } from '../../support/unsigned-receipt.ts'
import { signedPayment, withPaymentId } from '../../support/payments.ts'

const OTHER_TRANSACTION = `0x${'cd'.repeat(32)}`
const LOOKUP: NamedOperation = { operation: 'lookup', input: { company_number: '1' } }

describe('the receipt of a record', () => {
  const sale = useSale()

  const services = () => sale.context.services
  const headerOf = (outcome: Outcome) => {
    if (outcome.kind !== 'answer') expect.fail(`the outcome is ${JSON.stringify(outcome)}`)
    return outcome.paymentResponse
  }

  it('[5.9.1] states operation, answer, data and payment', async () => {
    const time = new Date()
    sale.now = () => time
    const payment = withPaymentId(await signedPayment())
    const bought = await sale.lookup(payment)
    const header = headerOf(bought)
    const { iat, ...claims } = claimsOf(receiptIn(header) ?? '')
    const { authorization } = payment.payload
    const answer = bought.kind === 'answer' ? (JSON.parse(bought.body) as { snapshot_id: string }) : undefined
    const [identity = ''] = await openIdentities(services().log)
    const record = await services().log.read(identity)
    expect(iat).to.equal(Math.floor(time.getTime() / 1000))
    expect(claims).to.deep.equal({
      jti: record?.identity,
      operation: record?.operation,
      operation_digest: `sha256:${record?.operation_digest}`,
      answer_digest: jsonDigest(answer),
      snapshot_id: answer?.snapshot_id,
      payment: {
        network: 'eip155:84532',
        asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
        payer: authorization.from,
        pay_to: authorization.to,
        amount: '1000',
        nonce: authorization.nonce,
        transaction: TRANSACTION,
      },
    })
    expect(jsonDigest(claims.operation)).to.equal(claims.operation_digest)
    expect(decodePaymentResponseHeader(header)).to.include({ success: true, transaction: TRANSACTION })
  })

  for (const [name, extra] of [
    ['just fits', 0],
    ['is one byte too long', 1],
  ] as const) {
    it(`[5.9.1] ${extra === 0 ? 'repeats' : 'does not repeat'} an operation that ${name}`, async () => {
      const search = (q: string) => ({ operation: 'search', input: { q, limit: 5 } })
      const room = OPERATION_BYTES_MAX - canonicalJson(search('')).length
      const operation = search('q'.repeat(room + extra))
      const receipt = await receiptFor(services(), makeRecord({ operation }), TRANSACTION)
      expect(claimsOf(receipt ?? '').operation).to.deep.equal(extra === 0 ? operation : undefined)
      expect(claimsOf(receipt ?? '').operation_digest).to.equal(`sha256:${'b'.repeat(64)}`)
    })
  }

  it('[5.9.3] is kept by a later step with the same transaction, and replaced with another one', async () => {
    const record = makeRecord({ operation: LOOKUP })
    const first = await receiptFor(services(), record, TRANSACTION)
    expect(claimsOf(first ?? '').payment.transaction).to.equal(TRANSACTION)
    expect(await receiptFor(services(), { ...record, receipt: first }, TRANSACTION)).to.equal(first)
    const other = await receiptFor(services(), { ...record, receipt: first }, OTHER_TRANSACTION)
    expect(claimsOf(other ?? '').payment.transaction).to.equal(OTHER_TRANSACTION)
  })

  for (const state of ['settled', 'confirmed'] as const) {
    it(`[5.9.3] is added to a ${state} record without one at the first replay, once`, async () => {
      const payment_response = settledResponse(makeRecord({}), TRANSACTION)
      const record = makeRecord({ state, payment_response, operation: LOOKUP })
      await storeRecord(services().log, record)
      const stored = (await services().log.read(record.identity)) ?? record
      expect(stored.receipt).to.equal(undefined)
      const replays = await Promise.all([1, 2].map(() => addMissingReceipt(services(), stored)))
      const [first, second] = replays.map(({ receipt }) => receipt)
      expect(claimsOf(first ?? '').operation).to.deep.equal(LOOKUP)
      expect(second).to.equal(first)
      expect((await services().log.read(record.identity))?.receipt).to.equal(first)
      expect(await addMissingReceipt(services(), replays[0] ?? record)).to.equal(replays[0])
    })
  }

  it('[5.9.3] is added at the next replay if no receipt could be signed, and the answer is delivered before', async () => {
    const payment = withPaymentId(await signedPayment())
    const { signReceipt } = services()
    services().signReceipt = () => Promise.reject(new Error('no key'))
    const bought = await sale.lookup(payment)
    expect(decodePaymentResponseHeader(headerOf(bought))).to.not.have.property('extensions')
    expect(sale.reports).to.include('receipt_not_issued')
    services().signReceipt = signReceipt
    const replayed = headerOf(await sale.lookup(payment))
    expect(claimsOf(receiptIn(replayed) ?? '').payment.transaction).to.equal(TRANSACTION)
    expect(headerOf(await sale.lookup(payment))).to.equal(replayed)
    expect(sale.count('settle')).to.equal(1)
  })

  it('[5.9.3] is not delivered if it cannot be stored', async () => {
    const payment = withPaymentId(await signedPayment())
    const { signReceipt, log } = services()
    services().signReceipt = () => Promise.reject(new Error('no key'))
    await sale.lookup(payment)
    services().signReceipt = signReceipt
    services().log = replaceMethods(log, { advance: () => Promise.reject(new Error('ENOSPC')) })
    expect(receiptIn(headerOf(await sale.lookup(payment)))).to.equal(undefined)
    services().log = log
    expect(receiptIn(headerOf(await sale.lookup(payment)))).to.be.a('string')
  })
})
