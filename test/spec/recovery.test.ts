/** Spec 5, recovery: killed at each point of a sale, the service answers the retry from its log and has charged once. */
import { expect } from 'chai'
import { testChainUrl } from '../support/chain.ts'
import { KILL_POINTS } from '../support/kill-points.ts'
import { runKills, type KillResult } from '../support/kill-run.ts'

/** `npm run bench -- kill` runs the same as often as one likes. */
const KILLS_PER_POINT = 2

describe('a service killed in the middle of a sale', () => {
  let results: KillResult[]

  before(async function () {
    this.timeout(120_000)
    const points = Array.from({ length: KILLS_PER_POINT }, () => KILL_POINTS).flat()
    results = await runKills({ rpcUrl: await testChainUrl(), points })
  })

  for (const point of KILL_POINTS) {
    it(`at "${point}" gives the stored answer to the retry, from one transfer`, () => {
      const once = { point, killed: true, status: 200, transfers: 1, identical: true, receipt: true }
      const ofPoint = results.filter((result) => result.point === point)
      expect(ofPoint).to.have.lengthOf(KILLS_PER_POINT)
      for (const result of ofPoint) expect(result).to.deep.equal(once)
    })
  }
})
