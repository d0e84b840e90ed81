/** The comparison of a load generator's counts with the metrics of the processes that answered. */
import { expect } from 'chai'
import { RequestCounts } from './request-counts.ts'

const PATH = '/docs'
const metrics = (status: number, count: number) =>
  `company_agent_http_requests_total{route="${PATH}",method="GET",status="${status}"} ${count}\n`

function countsOf({ answered, unknown }: { answered: number; unknown: number }): RequestCounts {
  const counts = new RequestCounts()
  for (let index = 0; index < answered; index += 1) counts.add({ path: PATH }, 200)
  for (let index = 0; index < unknown; index += 1) counts.addUnknown({ path: PATH })
  return counts
}

describe('the comparison of request counts', () => {
  const CASES: [what: string, unknown: number, scrapes: string[], faults: number][] = [
    ['equal counts', 0, [metrics(200, 5)], 0],
    ['the sum of several processes', 0, [metrics(200, 2), metrics(200, 3)], 0],
    ['one request too few', 0, [metrics(200, 4)], 1],
    ['one request too many', 0, [metrics(200, 6)], 1],
    ['one request too few beside unknown outcomes', 2, [metrics(200, 4)], 1],
    ['metrics without the unknown outcomes', 2, [metrics(200, 5)], 0],
    ['metrics with all unknown outcomes', 2, [metrics(200, 6) + metrics(503, 1)], 0],
    ['more requests than the unknown outcomes', 2, [metrics(200, 6) + metrics(503, 2)], 1],
    ['a status that no request got', 0, [metrics(200, 5) + metrics(500, 1)], 1],
  ]
  for (const [what, unknown, scrapes, faults] of CASES) {
    it(`${faults === 0 ? 'accepts' : 'finds'} ${what}`, () => {
      expect(countsOf({ answered: 5, unknown }).compare(scrapes, [])).to.have.lengthOf(faults)
    })
  }

  it('ignores the paths of other clients', () => {
    expect(countsOf({ answered: 5, unknown: 0 }).compare([], [PATH])).to.deep.equal([])
  })
})
