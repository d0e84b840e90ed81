/**
 * `bench matrix [--only TEXT] [--cells N] [--workers N]`: sells over every combination of facilitators and nodes with
 * faults, or over a number of them that the commit chooses. Fails if an honest payment gets 402 before its end, is
 * charged twice or is lost, or if an expired one is not refused in time.
 */
import { FACILITATORS, NODES, runMatrix, type Cell } from '../support/matrix-run.ts'
import { chosenByCommit } from './commit.ts'
import { markdown } from './markdown.ts'
import { print } from './print.ts'

const WORKERS_DEFAULT = '6'

const CELLS = FACILITATORS.flatMap((facilitators) =>
  (Object.keys(NODES) as Cell['nodes'][]).map((nodes): Cell => ({ facilitators, nodes })),
)

export async function matrix({
  only = '',
  cells: count,
  workers = WORKERS_DEFAULT,
}: Record<string, string>): Promise<boolean> {
  const nameOf = ({ facilitators, nodes }: Cell) => `${facilitators}, ${nodes}`
  const named = CELLS.filter((cell) => nameOf(cell).includes(only))
  const cells = count === undefined ? named : chosenByCommit(named, { count: Number(count), nameOf })
  const results = await runMatrix(cells, Number(workers))
  const rows = results.map(({ facilitators, nodes, freshSeconds, retrySeconds, expiredSeconds, faults }) => [
    facilitators,
    nodes,
    ...[freshSeconds, retrySeconds, expiredSeconds].map((seconds) => seconds.toFixed(1)),
    faults.length === 0 ? 'yes' : 'no',
  ])
  const headings = ['facilitator', 'nodes', 'fresh, s', 'retry, s', 'expired after, s', 'correct']
  print(`${markdown(headings, rows)}\n`)
  const faults = results.flatMap((each) => each.faults)
  for (const fault of faults) print(`FAULT ${fault}`)
  print(`${results.filter((each) => each.faults.length === 0).length} of ${results.length} cells are correct`)
  return faults.length === 0
}
