/**
 * `bench crash [--runs N] [--commands N] [--only TEXT] [--call NAME] [--seed S]`: kills each subject with SIGKILL
 * before a system call that writes, syncs, renames or sends, and runs it again as its user would. The points of death
 * are all such calls of one run that is not killed. What must be true afterwards is with each subject. The commands
 * that buy are also interrupted, and get no room for what they write, N times in all.
 */
import { join } from 'node:path'
import { atOnce } from '../support/at-once.ts'
import { randomFor } from '../support/random.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { openBuyerScene, openReconcileScene, openWatchScene } from './crash/buyers.ts'
import { attackCommands } from './crash/commands.ts'
import { openFirstStartScene, openImportScene } from './crash/directories.ts'
import { openSaleScene } from './crash/sales.ts'
import { canTrace, readPoints, strace, wasKilled, type Death } from './crash/trace.ts'
import { failureBound } from './statistics.ts'
import { markdown, print } from './report.ts'

const RUNS_DEFAULT = '20'
/** Attacks on commands that buy, in all. */
const COMMANDS_DEFAULT = '600'
/** Subjects at a time. Each waits for leases and blocks most of the time. */
const SUBJECTS_AT_ONCE = 3

export interface Scene extends AsyncDisposable {
  /** Runs the subject once under this command of strace, until it ends or dies. */
  run(tracer: readonly string[]): Promise<void>
  /** Runs the subject again without a kill. @returns the faults that are then found */
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

export interface Result {
  subject: string
  points: number
  deaths: number
  faults: string[]
  /** Whether it died as often as was asked, or at each of its points. */
  isComplete: boolean
}

export async function crash(options: Record<string, string>): Promise<boolean> {
  const {
    runs = RUNS_DEFAULT,
    commands = COMMANDS_DEFAULT,
    only = '',
    call,
    seed = String(Date.now() % 1_000_000),
  } = options
  if (!canTrace('nothing was killed')) return false
  print(`seed ${seed}`)
  const killed = await killSubjects(only, { runs: Number(runs), seed: Number(seed), call })
  const attacked = await attackCommands({ runs: Number(commands), seed: Number(seed), only })
  const results = [...killed, ...(attacked ? [attacked] : [])]
  const lines = results.map(({ subject, points, deaths, faults }) =>
    [subject, points, deaths, faults.length].map(String),
  )
  print(`\n${markdown(['subject', 'points of death', 'deaths', 'faults'], lines)}\n`)
  const faults = results.flatMap((each) => each.faults)
  for (const fault of faults) print(`FAULT ${fault}`)
  const partial = results.filter(({ isComplete }) => !isComplete).map(({ subject }) => subject)
  if (partial.length > 0) print(`NOT COVERED: ${partial.join(', ')}`)
  const deaths = results.reduce((sum, each) => sum + each.deaths, 0)
  print(`${deaths} deaths, ${faults.length} faults. ${failureBound(deaths)}`)
  return faults.length === 0 && partial.length === 0 && deaths > 0
}

/** At most this many runs for each death that is wanted. */
const RUNS_PER_DEATH_MAX = 4

interface Plan {
  runs: number
  seed: number
  /** Only before this call. */
  call: string | undefined
}

async function killSubjects(only: string, plan: Plan): Promise<Result[]> {
  const subjects = Object.entries(SUBJECTS).filter(([subject]) => subject.includes(only))
  // One after the other, because services that prepare the same chain at once use the same nonce.
  let opening: Promise<unknown> = Promise.resolve()
  return atOnce(SUBJECTS_AT_ONCE, subjects, async ([subject, open]) => {
    const opened = opening.then(open)
    opening = opened
    await using scene = await opened
    const began = performance.now()
    const result = await killAll(subject, scene, plan)
    print(`${subject}: ${result.deaths} deaths in ${Math.round((performance.now() - began) / 1000)} s`)
    return result
  })
}

async function killAll(subject: string, scene: Scene, { runs, seed, call }: Plan): Promise<Result> {
  const trace = join(await makeTemporaryDirectory(), 'trace')
  await scene.run(strace(trace))
  const faults: string[] = []
  const note = (death: string, found: string[]) =>
    faults.push(...found.map((fault) => `${subject}, ${death}: ${fault}`))
  note('not killed', await scene.recover())
  const points = [...(await readPoints(trace))].filter(([name]) => name === (call ?? name))
  const drawn = drawDeaths(points, seed)
  let deaths = 0
  let tried = 0
  for (const death of drawn) {
    // The number of calls varies, so a run can end before its point of death, and another one is tried, up to a fault.
    if (faults.length > 0 || deaths >= runs || tried >= RUNS_PER_DEATH_MAX * runs) break
    tried += 1
    await scene.run(strace(trace, death))
    if (await wasKilled(trace)) deaths += 1
    note(`killed before ${death.call} ${death.at}`, await scene.recover())
  }
  return { subject, points: drawn.length, deaths, faults, isComplete: deaths >= runs || tried === drawn.length }
}

/** One of each call in turn, because a rare rename is as interesting as each of many writes. */
function drawDeaths(points: readonly (readonly [string, number])[], seed: number): Death[] {
  const drawn = points.flatMap(([call, count], index) => {
    const random = randomFor(seed, index, 0)
    const numbers = Array.from({ length: count }, (_, at) => ({ at: at + 1, key: random() }))
    return numbers.toSorted((one, other) => one.key - other.key).map(({ at }, turn) => ({ call, at, turn }))
  })
  return drawn.toSorted((one, other) => one.turn - other.turn)
}
