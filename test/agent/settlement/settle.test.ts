/** The step to `settled`: its `PAYMENT-RESPONSE` header against the encoder of @x402/core. */
import { expect } from 'chai'
import { decodePaymentResponseHeader, encodePaymentResponseHeader } from '@x402/core/http'
import { unsignedStep } from '../../../agent/settlement/settle.ts'
import { makeRecord } from '../../support/records.ts'

describe('the step to settled', () => {
  it('[4.1.3] has the header that @x402/core encodes', () => {
    const transaction = `0x${'ab'.repeat(32)}`
    const { receipt, ...step } = unsignedStep(makeRecord({}), transaction)
    const decoded = decodePaymentResponseHeader(step.payment_response)
    expect(decoded).to.include({ success: true, transaction })
    expect(step).to.deep.equal({ state: 'settled', payment_response: encodePaymentResponseHeader(decoded) })
    expect(receipt).to.equal(undefined)
  })
})
