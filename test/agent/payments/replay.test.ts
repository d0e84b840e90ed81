/** The replay table, over every combination there is. */
import { expect } from 'chai'
import { decideReplay, RECORDS, RELATIONS, REPLAY_TABLE, type Decision } from '../../../agent/payments/replay.ts'
import type { ResponseRecord } from '../../../store/record.ts'
import { aRecord } from '../../support/records.ts'

const combinations = RECORDS.flatMap((record) =>
  RELATIONS.flatMap((payload) => RELATIONS.map((operation) => ({ record, payload, operation }))),
)

function decide({ record, payload, operation }: (typeof combinations)[number]): Decision {
  const held: ResponseRecord | undefined = record === 'none' ? undefined : aRecord({ state: record })
  const { payment_hash, operation_digest } = aRecord({})
  return decideReplay(held, {
    payment_hash: payload === 'same' ? payment_hash : 'f'.repeat(64),
    operation_digest: operation === 'same' ? operation_digest : 'f'.repeat(64),
  })
}

describe('the replay table', () => {
  it('has exactly one row for every record, payload and operation', () => {
    expect(combinations).to.have.lengthOf(36)
    for (const each of combinations) {
      const rows = REPLAY_TABLE.filter(
        (row) =>
          row.record.includes(each.record) &&
          row.payload.includes(each.payload) &&
          row.operation.includes(each.operation),
      )
      expect(rows, JSON.stringify(each)).to.have.lengthOf(1)
    }
  })

  it('gives data of a record only to its own payload and operation', () => {
    for (const each of combinations) {
      const isSame = each.payload === 'same' && each.operation === 'same'
      if (!isSame && each.record !== 'none') expect(decide(each), JSON.stringify(each)).to.equal('conflict')
    }
  })

  it('decides each state of one and the same purchase', () => {
    const decisions = RECORDS.map((record) => [record, decide({ record, payload: 'same', operation: 'same' })])
    expect(Object.fromEntries(decisions)).to.deep.equal({
      none: 'sell',
      prepared: 'ask_chain',
      settling: 'ask_chain',
      unknown: 'ask_chain',
      settled: 'repeat',
      confirmed: 'repeat',
      refused: 'refuse',
      rejected: 'refuse',
      expired: 'refuse',
    })
  })
})
