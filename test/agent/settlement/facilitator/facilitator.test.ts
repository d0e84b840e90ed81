/** What one reply of a facilitator to a settlement counts as. */
import { expect } from 'chai'
import { settleWithFacilitator, type Facilitator } from '../../../../agent/settlement/facilitator/facilitator.ts'
import type { Payment } from '../../../../agent/payment/headers.ts'
import { buildRequirements } from '../../../../agent/payment/terms.ts'
import { signedPayment, testTerms } from '../../../support/payments.ts'
import { pausesOnly } from '../../../support/timers.ts'

const transaction = `0x${'ab'.repeat(32)}`
const OTHER = '0x00000000000000000000000000000000000000d3'
const requirements = buildRequirements(testTerms, 1000)
const success = { success: true, transaction, network: testTerms.network }

const REPLIES: [reply: string, change: object | Error, kind: string][] = [
  ['a success', {}, 'settled'],
  ['a success with the amount of the payment', { amount: requirements.amount }, 'settled'],
  ['a success with an empty error reason', { errorReason: '' }, 'settled'],
  ['a success with null for absent members', { errorReason: null, payer: null, amount: null }, 'settled'],
  ['a success with an error reason', { errorReason: 'settlement_pending' }, 'unclear'],
  ['a success on another network', { network: 'eip155:8453' }, 'unclear'],
  ['a success of another payer', { payer: OTHER }, 'unclear'],
  ['a success with another amount', { amount: '1' }, 'unclear'],
  ['a success without a transaction', { transaction: '' }, 'unclear'],
  ['a success with a transaction of 33 bytes', { transaction: `${transaction}ab` }, 'unclear'],
  ['a connection that was reset', new Error('reset'), 'unclear'],
  ['a refusal without a transaction', { success: false, errorReason: 'unknown', transaction: '' }, 'refused'],
  ['a refusal without a reason', { success: false, errorReason: null, transaction: '' }, 'refused'],
  ['a refusal for a policy', { success: false, errorReason: 'kyt_failed', transaction: '' }, 'unclear'],
  ['a refusal that names its transaction', { success: false, errorReason: 'insufficient_funds' }, 'unclear'],
]

describe('[5.7.1, 5.7.2] a reply to a settlement', () => {
  for (const [reply, change, kind] of REPLIES) {
    it(`counts as ${kind} if it is ${reply}`, async () => {
      const payment = (await signedPayment({ requirements })) as unknown as Payment
      const settle = async () => (change instanceof Error ? Promise.reject(change) : { ...success, ...change })
      const request = { facilitator: { settle } as unknown as Facilitator, timer: pausesOnly, payment, requirements }
      expect((await settleWithFacilitator(request)).kind).to.equal(kind)
    })
  }
})
