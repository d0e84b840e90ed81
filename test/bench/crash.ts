/**
 * `bench crash [--runs N] [--only TEXT] [--seed S]`: kills each subject with SIGKILL before a system call that writes,
 * syncs, renames or sends, and runs it again as its user would. The points of death are all such calls of one run that
 * is not killed. What must be true afterwards is with each subject.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pick, randomFor } from '../support/random.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { openBuyerScene, openReconcileScene, openWatchScene } from './crash/buyers.ts'
import { openFirstStartScene, openImportScene } from './crash/directories.ts'
import { openSaleScene } from './crash/sales.ts'
import { readPoints, strace, wasKilled, type Death } from './crash/trace.ts'
import { markdown } from './markdown.ts'
import { print } from './print.ts'
import { failureBound } from './statistics.ts'

const RUNS_DEFAULT = '20'

export interface Scene extends AsyncDisposable {
  /** Runs the subject once under this command of strace, until it ends or dies. */
  run(tracer: readonly string[]): Promise<void>
  /** Runs the subject again, to its end. @returns what is wrong then */
  recover(): Promise<string[]>
}

const SUBJECTS: Record<string, () => Promise<Scene>> = {
  'a sale, then a restart': () => openSaleScene({ log: 'lmdb', processes: 1 }),
  'a sale, beside a second process': () => openSaleScene({ log: 'lmdb', processes: 2 }),
  'a sale on PostgreSQL, beside a second process': () => openSaleScene({ log: 'postgres', processes: 2 }),
  'the first start': openFirstStartScene,
  'an import': openImportScene,
  'a buyer': openBuyerScene,
  'client reconcile': openReconcileScene,
  'client watch': openWatchScene,
}

interface Result {
  subject: string
  points: number
  deaths: number
  faults: string[]
}

export async function crash(options: Record<string, string>): Promise<boolean> {
  const { runs = RUNS_DEFAULT, only = '', seed = String(Date.now() % 1_000_000) } = options
  if (spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status !== 0) {
    print('SKIPPED: strace is not installed or may not trace, so nothing was killed')
    return true
  }
  const results: Result[] = []
  for (const [subject, open] of Object.entries(SUBJECTS)) {
    if (!subject.includes(only)) continue
    await using scene = await open()
    results.push(await killAll(subject, scene, { runs: Number(runs), seed: Number(seed) }))
  }
  const lines = results.map(({ subject, points, deaths, faults }) =>
    [subject, points, deaths, faults.length].map(String),
  )
  print(`seed ${seed}\n\n${markdown(['subject', 'points of death', 'deaths', 'faults'], lines)}\n`)
  const faults = results.flatMap((each) => each.faults)
  for (const fault of faults) print(`FAULT ${fault}`)
  const deaths = results.reduce((sum, each) => sum + each.deaths, 0)
  print(`${deaths} deaths, ${faults.length} faults. ${failureBound(deaths)}`)
  return faults.length === 0 && results.every((each) => each.deaths > 0)
}

async function killAll(subject: string, scene: Scene, { runs, seed }: { runs: number; seed: number }): Promise<Result> {
  const trace = join(await makeTemporaryDirectory(), 'trace')
  await scene.run(strace(trace))
  const result: Result = { subject, points: 0, deaths: 0, faults: [] }
  const note = (death: string, faults: string[]) =>
    result.faults.push(...faults.map((fault) => `${subject}, ${death}: ${fault}`))
  note('not killed', await scene.recover())
  const points = await readPoints(trace)
  result.points = [...points.values()].reduce((sum, count) => sum + count, 0)
  for (let run = 0; run < runs; run += 1) {
    const random = randomFor(seed, run, 0)
    // Rare calls, such as a rename, are as interesting as frequent ones.
    const [call, count] = pick(random, [...points])
    const death: Death = { call, at: 1 + Math.floor(random() * count) }
    await scene.run(strace(trace, death))
    if (await wasKilled(trace)) result.deaths += 1
    note(`killed before ${call} ${death.at}`, await scene.recover())
  }
  return result
}
