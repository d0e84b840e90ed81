/** Whom a failed payment makes a stranger, and for how long. */
import { expect } from 'chai'
import { Distrusted } from '../../../agent/executor/distrusted.ts'

describe('a payer whose payment has come to nothing', () => {
  let at = 1_000_000
  let distrusted: Distrusted

  beforeEach(() => {
    at = 1_000_000
    distrusted = new Distrusted(() => at)
  })

  it('is a stranger for a minute, counted from the last time, and nobody else is', () => {
    distrusted.add('one')
    expect(distrusted.has('other')).to.equal(false)
    at += 30_000
    distrusted.add('one')
    at += 59_999
    expect(distrusted.has('one')).to.equal(true)
    at += 1
    expect(distrusted.has('one')).to.equal(false)
  })

  it('is none any more when the clock was set back', () => {
    distrusted.add('one')
    at -= 1
    expect(distrusted.has('one')).to.equal(false)
  })

  it('is forgotten as the oldest of more than ten thousand', () => {
    for (let payer = 0; payer <= 10_000; payer += 1) distrusted.add(`payer ${payer}`)
    expect(['payer 0', 'payer 1', 'payer 10000'].map((payer) => distrusted.has(payer))).to.deep.equal([
      false,
      true,
      true,
    ])
  })
})
