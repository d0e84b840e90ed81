/** The two observations of one node that end a payment. */
import { expect } from 'chai'
import { PastObservations } from '../../../agent/settlement/past-observations.ts'
import { observationOf } from '../../support/fake-chain.ts'

const MINUTE_MS = 60_000

describe('the observations of a payment', () => {
  let time: number
  let past: PastObservations

  beforeEach(() => {
    time = Date.parse('2026-01-01T00:00:00Z')
    past = new PastObservations(() => new Date(time))
  })

  /** Every block is final at once, and a second is a block. */
  function confirm(node: number): boolean {
    const observation = observationOf(new Date(time), [], [])
    const final = { number: observation.number, time: observation.time }
    return past.isConfirmed('a payment', 'expired', { ...observation, node, final })
  }

  it('[5.7.8] are of one node, a minute apart', () => {
    expect(confirm(0)).to.equal(false)
    time += MINUTE_MS - 1
    expect(confirm(0)).to.equal(false)
    time += 1
    expect(confirm(0)).to.equal(true)
  })

  it('[5.7.8] do not end it if two nodes have made one each', () => {
    for (const node of [0, 1, 0, 1]) {
      expect(confirm(node)).to.equal(false)
      time += MINUTE_MS
    }
  })
})
