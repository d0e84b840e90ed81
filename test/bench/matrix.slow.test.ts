/** Six cells of `bench matrix`, which runs all. */
import { expect } from 'chai'
import { runMatrix, type Cell } from '../support/matrix-run.ts'

const CELLS: Cell[] = [
  { facilitators: 'self', nodes: 'first dead' },
  { facilitators: 'self', nodes: '5 % failing' },
  { facilitators: 'one facilitator', nodes: 'second lagging' },
  { facilitators: 'one facilitator', nodes: 'second of another chain' },
  { facilitators: 'two facilitators', nodes: 'healthy' },
  { facilitators: 'two facilitators', nodes: 'first 429' },
]

describe('[5.7.8, 5.7.13, 5.7.14] payments over services whose facilitators and nodes fail', function () {
  // A payment that expires ends three minutes after its end at the latest.
  this.timeout(600_000)

  it('are sold once, or refused after their end, and never before', async () => {
    const results = await runMatrix(CELLS, CELLS.length)
    expect(results.flatMap(({ faults }) => faults)).to.deep.equal([])
    expect(results).to.have.lengthOf(CELLS.length)
  })
})
