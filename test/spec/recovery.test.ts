/** Kills the service at each point of a sale. The retry gets the stored response, and the buyer is charged once. */
import { expect } from 'chai'
import { planKills } from '../support/kill-plan.ts'
import { KILL_POINTS, pointOf } from '../support/kill-points.ts'
import { runKills, type KillRun } from '../support/kill-run.ts'

/** At least one kill per point. `npm run bench -- kill` runs more. */
const KILLS = 31
const SEED = 1

describe('[5.6.1, 5.6.2] a service killed during a sale', () => {
  let run: KillRun

  before(async function () {
    this.timeout(1_200_000)
    run = await runKills(planKills({ seed: SEED, kills: KILLS }))
  })

  for (const point of KILL_POINTS) {
    it(`when ${pointOf(point).at}: replays the stored response from one transfer`, () => {
      const kills = run.kills.filter((kill) => kill.point === point)
      expect(kills).to.not.deep.equal([])
      expect(kills.filter(({ isReached }) => !isReached)).to.deep.equal([])
      expect(kills.flatMap(({ faults }) => faults)).to.deep.equal([])
    })
  }

  it('has one transfer per sale', () => {
    expect(run.transfers).to.equal(run.sales)
  })
})
