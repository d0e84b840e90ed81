/** Payers with a recent failure: for how long, and how many. */
import { expect } from 'chai'
import { FailedPayers } from '../../../agent/executor/failed-payers.ts'

describe('the failed payers', () => {
  let time = 1_000_000
  let failedPayers: FailedPayers

  beforeEach(() => {
    time = 1_000_000
    failedPayers = new FailedPayers(() => time)
  })

  it('include a payer for a minute after its last failure', () => {
    failedPayers.add('one')
    expect(failedPayers.has('other')).to.equal(false)
    time += 30_000
    failedPayers.add('one')
    time += 59_999
    expect(failedPayers.has('one')).to.equal(true)
    time += 1
    expect(failedPayers.has('one')).to.equal(false)
  })

  it('do not include a payer after the clock was set back', () => {
    failedPayers.add('one')
    time -= 1
    expect(failedPayers.has('one')).to.equal(false)
  })

  it('drop the oldest of more than ten thousand payers', () => {
    for (let payer = 0; payer <= 10_000; payer += 1) failedPayers.add(`payer ${payer}`)
    const found = ['payer 0', 'payer 1', 'payer 10000'].map((payer) => failedPayers.has(payer))
    expect(found).to.deep.equal([false, true, true])
  })
})
