/** Spec 5, recovery: killed at each point of a sale, the service answers the retry from its log and has charged once. */
import { expect } from 'chai'
import { planKills } from '../support/kill-plan.ts'
import { KILL_POINTS, pointOf } from '../support/kill-points.ts'
import { runKills, type KillRun } from '../support/kill-run.ts'

/** One at each point at least; `npm run bench -- kill` kills as often as one likes. */
const KILLS = 31
const SEED = 1

describe('a service killed in the middle of a sale', () => {
  let run: KillRun

  before(async function () {
    this.timeout(400_000)
    run = await runKills(planKills({ seed: SEED, kills: KILLS }))
  })

  for (const point of KILL_POINTS) {
    it(`when ${pointOf(point).at}: gives the stored answer to the retry, from one transfer`, () => {
      const kills = run.kills.filter((kill) => kill.point === point)
      expect(kills).to.not.deep.equal([])
      expect(kills.filter(({ isReached }) => !isReached)).to.deep.equal([])
      expect(kills.flatMap(({ faults }) => faults)).to.deep.equal([])
    })
  }

  it('has been paid once for each sale, all in all', () => {
    expect(run.transfers).to.equal(run.sales)
  })
})
