/** The units of the last minute: never more than the maximum, and the waiting time that a refusal states. */
import { expect } from 'chai'
import fc from 'fast-check'
import { count, giveBack, spend, type SlidingMinute } from '../../base/sliding-minute.ts'

const MINUTE_MS = 60_000

describe('a sliding minute', () => {
  it('[6.2.1] never has more units than the maximum in any minute, and a wait that is exact to a second', () => {
    const step = fc.record({ afterMs: fc.integer({ min: 0, max: 30_000 }), units: fc.integer({ min: 1, max: 4 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 4, max: 12 }), (steps, max) => {
        const minute: SlidingMinute = []
        const spent: { timeMs: number; units: number }[] = []
        let timeMs = 1_700_000_000_123
        for (const { afterMs, units } of steps) {
          timeMs += afterMs
          const result = spend(minute, { units, max, timeMs })
          if (result.kind === 'spent') {
            spent.push({ timeMs, units })
          } else {
            expect(result.waitMs).to.be.within(1, MINUTE_MS + 1_000)
            const retry = { units, max, timeMs: timeMs + result.waitMs }
            expect(spend(structuredClone(minute), retry).kind).to.equal('spent')
            const early = { ...retry, timeMs: retry.timeMs - 1 }
            expect(spend(structuredClone(minute), early).kind).to.equal('full')
          }
          const current = spent.filter((each) => each.timeMs > timeMs - MINUTE_MS)
          expect(current.reduce((sum, each) => sum + each.units, 0)).to.be.at.most(max)
          expect(minute.length).to.be.at.most(61)
        }
      }),
    )
  })

  it('gives units back, but no more than were spent in that second', () => {
    const minute: SlidingMinute = []
    const spent = spend(minute, { units: 3, max: 3, timeMs: 0 })
    if (spent.kind === 'full') throw new Error('The minute is empty')
    giveBack(minute, { at: spent.at, units: 1 })
    expect(count(minute, 0)).to.equal(2)
    giveBack(minute, { at: spent.at, units: 9 })
    expect(count(minute, 0)).to.equal(0)
    giveBack(minute, { at: 99, units: 1 })
    expect(spend(minute, { units: 3, max: 3, timeMs: 0 }).kind).to.equal('spent')
  })

  it('forgets units of the future after the clock was set back by more than a minute', () => {
    const minute: SlidingMinute = []
    spend(minute, { units: 3, max: 3, timeMs: 3_600_000 })
    expect(spend(minute, { units: 1, max: 3, timeMs: 3_590_000 }).kind).to.equal('full')
    expect(spend(minute, { units: 3, max: 3, timeMs: 0 }).kind).to.equal('spent')
  })
})
