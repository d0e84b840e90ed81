/**
 * `npm run bench -- kill --runs N [--seed S] [--workers W]`: at least N SIGKILLs of the real service, at named points of a
 * sale and at random moments, each followed by a restart and two retries. Says for each point how many ended in one transfer
 * and the stored answer; fails when one did not, or when a point was never reached.
 */
import { planKills } from '../support/kill-plan.ts'
import { KILL_POINTS, pointOf } from '../support/kill-points.ts'
import { runKills, type Kill, type KillRun } from '../support/kill-run.ts'

const RUNS_DEFAULT = '100'
const WORKERS_DEFAULT = '2'
/** With no failure in n runs, 3/n bounds the rate at 95 % confidence. */
const RULE_OF_THREE = 3

const print = (line: string) => void process.stdout.write(`${line}\n`)

export async function kill(options: Record<string, string>): Promise<boolean> {
  const { runs = RUNS_DEFAULT, workers = WORKERS_DEFAULT, seed = String(Date.now() % 1_000_000) } = options
  print(`seed ${seed}`)
  const plan = planKills({ seed: Number(seed), kills: Number(runs) })
  const begun = performance.now()
  const shares = Array.from({ length: Number(workers) }, (_, worker) => worker)
  const results = await Promise.all(
    shares.map((worker) => runKills(plan.filter(({ index }) => index % shares.length === worker))),
  )
  return report(results, (performance.now() - begun) / 1000)
}

const isGood = ({ faults }: Kill) => faults.length === 0

function report(results: readonly KillRun[], seconds: number): boolean {
  const kills = results.flatMap((result) => result.kills)
  const missed = KILL_POINTS.filter((point) => !kills.some((each) => each.point === point && each.isReached))
  for (const point of KILL_POINTS) {
    const at = kills.filter((each) => each.point === point)
    const reached = at.filter(({ isReached }) => isReached).length
    print(`${pointOf(point).at.padEnd(56)} ${row([at.length, reached, at.filter(isGood).length])}`)
  }
  print(`random moments: ${momentsOf(kills.filter(({ point }) => point === 'random'))}`)
  for (const bad of kills.filter((each) => !isGood(each))) print(JSON.stringify(bad))
  for (const point of missed) print(`"${pointOf(point).at}" was never reached`)
  const sales = results.reduce((sum, each) => sum + each.sales, 0)
  const transfers = results.reduce((sum, each) => sum + each.transfers, 0)
  const good = kills.filter(isGood).length
  print(
    `${kills.length} kills in ${Math.round(seconds)} s; ${good} ended in one transfer and the stored answer, twice the same`,
  )
  print(`${sales} payments signed, ${transfers} transfers on chain`)
  const isRight = good === kills.length && missed.length === 0 && sales === transfers
  if (isRight)
    print(
      `at 95 % confidence fewer than ${((RULE_OF_THREE / kills.length) * 100).toFixed(2)} % of such kills end otherwise`,
    )
  return isRight
}

function row(counts: readonly number[]): string {
  const [all, reached, good] = counts
  return `${String(all).padStart(4)} kills, ${String(reached).padStart(4)} there, ${String(good).padStart(4)} good`
}

/** What was on disk at the kills that were drawn by time. */
function momentsOf(kills: readonly Kill[]): string {
  const counts = new Map<string, number>()
  for (const { onDisk = 'nothing' } of kills) counts.set(onDisk, (counts.get(onDisk) ?? 0) + 1)
  return [...counts].map(([state, count]) => `${state} ${count}`).join(', ')
}
