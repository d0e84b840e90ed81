/**
 * `bench kill [--runs N] [--seed S] [--workers N] [--log lmdb|postgres]`: at least N SIGKILLs of the real service, at
 * named points of a sale and at random times, each followed by a restart and two retries. Fails unless every kill ends
 * in one transfer and the stored response, and every point is reached.
 */
import { startDatabase, type LogKind, type Options } from './log-kind.ts'
import { markdown } from './markdown.ts'
import { print } from './print.ts'
import { failureBound } from './statistics.ts'
import { planKills, type Scenario } from '../support/kill-plan.ts'
import { KILL_POINTS, pointOf } from '../support/kill-points.ts'
import { runKills, type Kill, type KillRun } from '../support/kill-run.ts'

const RUNS_DEFAULT = '100'
const WORKERS_DEFAULT = '2'

export async function kill(options: Options): Promise<boolean> {
  const {
    log = 'lmdb',
    runs = RUNS_DEFAULT,
    workers = WORKERS_DEFAULT,
    seed = String(Date.now() % 1_000_000),
  } = options
  print(`seed ${seed}, log ${log}`)
  const plan = planKills({ seed: Number(seed), kills: Number(runs) })
  const begun = performance.now()
  const shares = Array.from({ length: Number(workers) }, (_, worker) => worker)
  const results = await Promise.all(
    shares.map((worker) =>
      runShare(
        plan.filter(({ index }) => index % shares.length === worker),
        log,
      ),
    ),
  )
  return report(results, (performance.now() - begun) / 1000)
}

/** Each share has a PostgreSQL server of its own, which keeps running. */
async function runShare(plan: readonly Scenario[], log: LogKind): Promise<KillRun> {
  if (log === 'lmdb') return runKills(plan)
  await using database = await startDatabase()
  return await runKills(plan, database.url)
}

const isCorrect = ({ faults }: Kill) => faults.length === 0

function report(results: readonly KillRun[], seconds: number): boolean {
  const kills = results.flatMap((result) => result.kills)
  const missed = KILL_POINTS.filter((point) => !kills.some((each) => each.point === point && each.isReached))
  const lines = KILL_POINTS.map((point) => {
    const all = kills.filter((each) => each.point === point)
    const reached = all.filter(({ isReached }) => isReached)
    return [pointOf(point).at, String(all.length), String(reached.length), String(all.filter(isCorrect).length)]
  })
  print(`${markdown(['killed when', 'kills', 'reached', 'correct'], lines)}\n`)
  print(`On disk at the random kills: ${statesAt(kills.filter(({ point }) => point === 'random'))}.\n`)
  for (const wrong of kills.filter((each) => !isCorrect(each))) print(JSON.stringify(wrong))
  for (const point of missed) print(`"${pointOf(point).at}" was not reached`)
  const sales = results.reduce((sum, each) => sum + each.sales, 0)
  const transfers = results.reduce((sum, each) => sum + each.transfers, 0)
  const correct = kills.filter(isCorrect).length
  print(
    `${correct} of ${kills.length} kills ended in one transfer and the stored response, in ${Math.round(seconds)} s; ` +
      `${sales} payments signed, ${transfers} transfers. ${failureBound(kills.length)}`,
  )
  return correct === kills.length && missed.length === 0 && sales === transfers
}

/** The states on disk at the random kills. */
function statesAt(kills: readonly Kill[]): string {
  const counts = new Map<string, number>()
  for (const { onDisk = 'nothing' } of kills) counts.set(onDisk, (counts.get(onDisk) ?? 0) + 1)
  return [...counts].map(([state, count]) => `${state} ${count}`).join(', ')
}
