/**
 * `bench matrix [--only TEXT] [--cells N] [--workers N]`: sells through each combination of facilitators with faulty
 * nodes, and with each fault of a settlement, or through a number of them that the commit chooses, on a real chain.
 * Fails if an honest payment gets 402 before its end, is charged twice or is lost, or if an expired one is not refused
 * in time.
 */
import { openAccounts } from '../../agent/sandbox/accounts.ts'
import { migrateDatabase } from '../../store/log/postgres/schema.ts'
import { startPostgres } from '../support/postgres.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { chosenByCommit } from './commit.ts'
import { NODE_CELLS } from './matrix/nodes.ts'
import { startOldChain, type CellResult, type Chains } from './matrix/parts.ts'
import { SETTLE_CELLS } from './matrix/settlement.ts'
import { markdown, print } from './report.ts'

const WORKERS_DEFAULT = '6'

interface Cell {
  name: string
  run: (chains: Chains) => Promise<CellResult>
}

const CELLS: readonly Cell[] = [...NODE_CELLS, ...SETTLE_CELLS]

export async function matrix({
  only = '',
  cells: count,
  workers = WORKERS_DEFAULT,
}: Record<string, string>): Promise<boolean> {
  const named = CELLS.filter(({ name }) => name.includes(only))
  const cells =
    count === undefined ? named : chosenByCommit(named, { count: Number(count), nameOf: ({ name }) => name })
  const results = await runMatrix(cells, Number(workers))
  const columns = ['fresh', 'retry', 'expired', 'other machine'] as const
  const rows = results.map(({ name, seconds, faults }) => [
    name,
    ...columns.map((column) => seconds[column]?.toFixed(1) ?? ''),
    faults.length === 0 ? 'yes' : 'no',
  ])
  print(`${markdown(['cell', ...columns.map((column) => `${column}, s`), 'correct'], rows)}\n`)
  for (const { name, faults } of results) for (const fault of faults) print(`FAULT ${name}: ${fault}`)
  const correct = results.filter(({ faults }) => faults.length === 0)
  print(`${correct.length} of ${results.length} cells are correct`)
  return correct.length === results.length
}

async function runMatrix(cells: readonly Cell[], workers: number): Promise<CellResult[]> {
  const accounts = await openAccounts({ directory: await makeTemporaryDirectory() })
  const [chain, other] = [await startOldChain(accounts), await startOldChain(accounts)]
  let postgres: ReturnType<typeof startPostgres> | undefined
  const openLog = async () => {
    const url = await (await (postgres ??= startPostgres())).createDatabase()
    await migrateDatabase(url)
    return url
  }
  const chains = { accounts, url: chain.url, otherUrl: other.url, openLog }
  try {
    const queue = cells.entries()
    const results: CellResult[] = []
    const work = async () => {
      for (const [at, cell] of queue) results[at] = await cell.run(chains)
    }
    await Promise.all(Array.from({ length: workers }, work))
    return results
  } finally {
    for (const { child } of [chain, other]) child.kill()
    await (await postgres)?.stop()
  }
}
