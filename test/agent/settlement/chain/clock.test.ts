/** [5.7.10] When the local clock counts as wrong, and the tolerances of times. */
import { expect } from 'chai'
import { ClockCheck, isFarOff, isNear, isOld, showsReply } from '../../../../agent/settlement/chain/clock.ts'

const NOW = 1_800_000_000

/** Whether the clock is wrong after each of these blocks, given as their distance from the clock and their number. */
function verdicts(...blocks: [seconds: number, number: number][]): boolean[] {
  const changes: boolean[] = []
  const clock = new ClockCheck(
    () => new Date(NOW * 1000),
    (isWrong) => void changes.push(isWrong),
  )
  const found = blocks.map(([seconds, number]) => {
    clock.note({ time: BigInt(NOW + seconds), number: BigInt(number) })
    return clock.isWrong
  })
  expect(changes).to.deep.equal(found.filter((isWrong, index) => isWrong !== (found[index - 1] ?? false)))
  return found
}

describe('[5.7.10] the check of the local clock', () => {
  it('finds a clock that is behind at the second block more than a minute ahead of it', () => {
    expect(verdicts([60, 1], [60, 2])).to.deep.equal([false, false])
    expect(verdicts([61, 1], [61, 1])).to.deep.equal([false, true])
  })

  it('finds a clock that is ahead if blocks more than a minute old still advance', () => {
    expect(verdicts([-60, 1], [-60, 2])).to.deep.equal([false, false])
    expect(verdicts([-61, 1], [-61, 2])).to.deep.equal([false, true])
  })

  it('takes old blocks that do not advance for an outage of the chain', () => {
    expect(verdicts([-61, 5], [-80, 5], [-300, 5])).to.deep.equal([false, false, false])
  })

  it('does not count one block ahead between others', () => {
    expect(verdicts([61, 1], [0, 2], [61, 3], [-61, 4])).to.deep.equal([false, false, false, false])
  })

  it('ends with the first block that agrees with the clock', () => {
    expect(verdicts([3_600, 1], [3_600, 2], [0, 3])).to.deep.equal([false, true, false])
  })
})

describe('a block', () => {
  const now = new Date(NOW * 1000)
  const verdictsOf = (isSo: (time: bigint, clock: Date) => boolean, ...seconds: number[]) =>
    seconds.map((each) => isSo(BigInt(NOW + each), now))

  it('agrees with the clock up to a minute on both sides', () => {
    expect(verdictsOf(isNear, -61, -60, 60, 61)).to.deep.equal([false, true, true, false])
  })

  it('is old after more than a minute, and never if it is ahead of the clock', () => {
    expect(verdictsOf(isOld, -61, -60, 3_600)).to.deep.equal([true, false, false])
  })

  it('is far off by more than ten minutes on both sides', () => {
    expect(verdictsOf(isFarOff, -601, -600, 600, 601)).to.deep.equal([true, false, false, true])
  })

  it('shows what a reply says if it is at most 30 seconds older', () => {
    expect(verdictsOf(showsReply, -31, -30, 0)).to.deep.equal([false, true, true])
  })
})
