/** The `PAYMENT-RESPONSE` header, against the encoder of @x402/core. */
import { expect } from 'chai'
import { decodePaymentResponseHeader, encodePaymentResponseHeader } from '@x402/core/http'
import { failedResponse, settledResponse } from '../../../agent/payment/payment-response.ts'
import { makeRecord } from '../../support/records.ts'

describe('the PAYMENT-RESPONSE header', () => {
  const transaction = `0x${'ab'.repeat(32)}`

  for (const [name, header, expected] of [
    ['settlement', settledResponse(makeRecord({}), transaction), { success: true, transaction }],
    [
      'failed settlement',
      failedResponse(makeRecord({}), 'settlement_refused'),
      { success: false, transaction: '', errorReason: 'settlement_refused' },
    ],
  ] as const)
    it(`[4.1.3] of a ${name} is the one that @x402/core encodes`, () => {
      const decoded = decodePaymentResponseHeader(header)
      expect(decoded).to.include(expected)
      expect(header).to.equal(encodePaymentResponseHeader(decoded))
    })
})
