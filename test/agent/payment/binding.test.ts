/** What identifies the payment of a request, and what it is bound to. */
import { expect } from 'chai'
import { lookup as definition } from '../../../agent/operation/lookup.ts'
import type { Operation } from '../../../agent/operation/operation.ts'
import { decodePayment } from '../../../agent/payment/binding.ts'
import { header, signedPayment } from '../../support/payments.ts'

const lookup = (company_number: string): Operation => ({ definition, input: { company_number } })

describe('the payment of a request', () => {
  it('[5.4.2] is bound to its payload and to the operation', async () => {
    const one = header(await signedPayment())
    const other = header(await signedPayment())
    const bind = (text: string, number: string) => {
      const decoded = decodePayment([text], lookup(number))
      if (decoded.kind !== 'payment') throw new Error('The payment was not decoded')
      return decoded.bind()
    }
    const [first, second, third] = [bind(one, '73848'), bind(one, '104547'), bind(other, '73848')]
    expect(first.operation_digest).to.match(/^[0-9a-f]{64}$/)
    expect(second.operation_digest).to.not.equal(first.operation_digest)
    expect(second.payment_hash).to.equal(first.payment_hash)
    expect(third.operation_digest).to.equal(first.operation_digest)
    expect(third.payment_hash).to.not.equal(first.payment_hash)
  })
})
