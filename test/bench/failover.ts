/**
 * `bench failover [--runs N] [--seed S]`: in each run, kills the PostgreSQL primary of two services under load and
 * promotes its synchronous standby. Fails if an acknowledged record is lost, or if a payment is charged twice, is not
 * answered, or stays open after its block is final.
 */
import { LOSSES, runFailovers, type Failover, type FailoverRun } from '../support/failover-run.ts'
import { markdown } from './markdown.ts'
import { print } from './print.ts'
import { median } from './statistics.ts'

const RUNS_DEFAULT = '3'
const FAULTS_SHOWN = 10

export async function failover(options: Record<string, string>): Promise<boolean> {
  const { runs = RUNS_DEFAULT, seed = String(Date.now() % 1_000_000) } = options
  print(`seed ${seed}\n`)
  return report(await runFailovers({ runs: Number(runs), seed: Number(seed) }))
}

function report({ failovers, sales, transfers, open, openAtEnd }: FailoverRun): boolean {
  const sumOf = (list: readonly Failover[], of: (each: Failover) => number) =>
    list.reduce((sum, each) => sum + of(each), 0)
  const rows = LOSSES.map((loss) => {
    const all = failovers.filter((each) => each.loss === loss)
    const times = all.map(({ recoveredMs }) => recoveredMs / 1000)
    return [
      loss,
      String(all.length),
      String(sumOf(all, (each) => each.sales)),
      String(sumOf(all, (each) => each.answeredBefore)),
      String(sumOf(all, (each) => each.repeats)),
      all.length > 0 ? median(times).toFixed(1) : '',
      all.length > 0 ? Math.max(...times).toFixed(1) : '',
      String(all.filter(({ faults }) => faults.length === 0).length),
    ]
  })
  const headings = ['address until the promotion', 'failovers', 'sales', 'answered before', 'repeated requests']
  print(`${markdown([...headings, 'recovered in, s, median', 'maximum', 'correct'], rows)}\n`)
  const faults = failovers.flatMap((each) => each.faults)
  for (const fault of faults.slice(0, FAULTS_SHOWN)) print(`FAULT ${fault}`)
  const correct = failovers.filter((each) => each.faults.length === 0).length
  print(
    `${correct} of ${failovers.length} failovers lost no acknowledged record; ${sales} sales, ${transfers} transfers; ` +
      `${open} payments open at the end, ${openAtEnd} after their blocks were final`,
  )
  return correct === failovers.length && sales === transfers && openAtEnd === 0
}
