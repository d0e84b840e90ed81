/** The replay decision, over every combination. */
import { expect } from 'chai'
import { decideReplay, type ReplayDecision } from '../../../agent/settlement/replay-decision.ts'
import { RECORD_STATES, type ResponseRecord } from '../../../store/record.ts'
import { makeRecord } from '../../support/records.ts'

const RECORDS = ['none', ...RECORD_STATES] as const
const RELATIONS = ['same', 'other'] as const
const combinations = RECORDS.flatMap((record) =>
  RELATIONS.flatMap((payload) => RELATIONS.map((operation) => ({ record, payload, operation }))),
)

function decide({ record, payload, operation }: (typeof combinations)[number]): ReplayDecision {
  const stored: ResponseRecord | undefined = record === 'none' ? undefined : makeRecord({ state: record })
  const { payment_hash, operation_digest } = makeRecord({})
  return decideReplay(stored, {
    payment_hash: payload === 'same' ? payment_hash : 'f'.repeat(64),
    operation_digest: operation === 'same' ? operation_digest : 'f'.repeat(64),
  })
}

describe('the replay decision', () => {
  it('returns conflict for another payload or operation', () => {
    for (const each of combinations) {
      const isSame = each.payload === 'same' && each.operation === 'same'
      if (!isSame && each.record !== 'none') expect(decide(each), JSON.stringify(each)).to.equal('conflict')
    }
  })

  it('returns the decision of each state for the same payload and operation', () => {
    const decisions = RECORDS.map((record) => [record, decide({ record, payload: 'same', operation: 'same' })])
    expect(Object.fromEntries(decisions)).to.deep.equal({
      none: 'sell',
      prepared: 'ask_chain',
      settling: 'ask_chain',
      unknown: 'ask_chain',
      settled: 'repeat',
      confirmed: 'repeat',
      refused: 'refuse',
      rejected: 'ask_chain',
      expired: 'ask_chain',
    })
  })
})
