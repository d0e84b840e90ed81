/** Which requests with the payment of a record are its retries, and which retries observe the chain. */
import { expect } from 'chai'
import { isBoundTo } from '../../../agent/payments/binding.ts'
import { mayChange } from '../../../agent/executor/retry.ts'
import { RECORD_STATES } from '../../../store/record.ts'
import { makeRecord } from '../../support/records.ts'

const OTHER = 'f'.repeat(64)

describe('a request with the payment of a record', () => {
  it('[5.4.2] belongs to it only with the same payload and the same operation', () => {
    const record = makeRecord({})
    const { payment_hash, operation_digest } = record
    expect(isBoundTo(record, { payment_hash, operation_digest })).to.equal(true)
    expect(isBoundTo(record, { payment_hash: OTHER, operation_digest })).to.equal(false)
    expect(isBoundTo(record, { payment_hash, operation_digest: OTHER })).to.equal(false)
    expect(isBoundTo(record, { payment_hash: OTHER, operation_digest: OTHER })).to.equal(false)
  })

  it('[5.7.9] observes the chain while the outcome is not known, and after an end without a transfer', () => {
    const observing = RECORD_STATES.filter((state) => mayChange(makeRecord({ state })))
    expect(observing).to.have.members(['prepared', 'settling', 'unknown', 'rejected', 'expired'])
  })
})
