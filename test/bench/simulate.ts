/**
 * `bench simulate [--seeds N] [--from SEED] [--workers N] [--seed SEED] [--servers N] [--log lmdb|postgres] [--trace]`: sales under injected
 * faults, one run for each seed. docs/reliability.md lists the faults and the invariants. A broken invariant is printed with
 * the trace of its run and the command that replays it. Runs are independent, so a range of seeds can be run in parts.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { CHANGES, coverageOf } from './simulate/coverage.ts'
import { isLogKind, type LogKind } from './log-kind.ts'
import { run } from './simulate/run.ts'
import type { Batch, Tally } from '../programs/simulate-worker.ts'

const SEEDS_DEFAULT = '20000'
const SHOWN_MAX = 2
/** Seeds that a thread gets at a time: a few seconds of work, so that all threads finish at about the same time. */
const BATCH = 500
/** Most objects of a run are garbage at its end. A young generation that holds several runs is collected less often. */
const YOUNG_GENERATION_MB = 64
const PROGRESS_EVERY_MS = 60_000

interface Plan {
  first: number
  seeds: number
  workers: number
  serverCount: number | undefined
  logKind?: LogKind
  /** Called after each batch with the sum of the batches so far. */
  onProgress?: (total: Readonly<Tally>) => void
}

export async function simulate(options: Record<string, string>): Promise<boolean> {
  const { seed, from = seed ?? '1', servers, workers = '1', log = 'lmdb', trace } = options
  if (!isLogKind(log)) {
    print('--log must be lmdb or postgres')
    return false
  }
  const { seeds = seed === undefined ? SEEDS_DEFAULT : '1' } = options
  const serverCount = servers === undefined ? undefined : Number(servers)
  const plan = { first: Number(from), seeds: Number(seeds), workers: Number(workers), serverCount, logKind: log }
  if (trace !== undefined) await show(plan)
  const start = performance.now()
  const { steps, seen, broken } = await runAll({ ...plan, onProgress: progressOf(plan) })
  const took = (performance.now() - start) / 1000
  for (const name of [...seen.keys()].toSorted()) print(`${String(seen.get(name)).padStart(10)}  ${name}`)
  if (trace === undefined)
    for (const each of broken.slice(0, SHOWN_MAX)) await show({ ...plan, first: each.seed, seeds: 1 })
  for (const kind of new Set(broken.map(({ invariant }) => invariant))) {
    const of = broken.filter(({ invariant }) => invariant === kind).map((each) => each.seed)
    print(`${of.length} x ${kind}, first with seed ${of[0]}: ${replayOf(of[0] as number, servers, log)}`)
  }
  print(
    `${describeCoverage(seen)}\n${seeds} seeds from ${plan.first}, ${servers ?? '1 to 3'} servers, ${workers} workers, ${steps} steps: ` +
      `${broken.length} broken; ${took.toFixed(1)} s, ${(plan.seeds / took).toFixed(0)} seeds per second`,
  )
  return broken.length === 0
}

function describeCoverage(seen: ReadonlyMap<string, number>): string {
  const { missing, faults } = coverageOf(seen)
  const list = missing.length === 0 ? '' : ` (not: ${missing.join(', ')})`
  return `${CHANGES.length - missing.length} of ${CHANGES.length} changes of a record${list}, ${faults} kinds of faults`
}

/** Prints the first broken seed at once, and the progress every minute, on stderr. */
function progressOf({ seeds }: Plan): (total: Readonly<Tally>) => void {
  const start = performance.now()
  let printedAt = start
  let isShown = false
  return ({ seeds: done, broken }) => {
    const [first] = broken
    if (first && !isShown) {
      isShown = true
      process.stderr.write(`seed ${first.seed} breaks ${first.invariant}\n`)
    }
    const now = performance.now()
    if (now - printedAt < PROGRESS_EVERY_MS) return
    printedAt = now
    const minutes = ((now - start) / 60_000).toFixed(0)
    process.stderr.write(`${done} of ${seeds} seeds after ${minutes} min: ${broken.length} broken\n`)
  }
}

/** Each thread gets the next seeds when it has finished its last. The result does not depend on the threads. */
async function runAll({ first, seeds, workers, serverCount, logKind = 'lmdb', onProgress }: Plan): Promise<Tally> {
  const total: Tally = { seeds: 0, steps: 0, seen: new Map(), broken: [] }
  const end = first + seeds
  let next = first
  const runSome = async () => {
    const thread = new Worker(new URL('../programs/simulate-worker.js', import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    })
    try {
      while (next < end) {
        const work: Batch = { first: next, count: Math.min(BATCH, end - next), serverCount, logKind }
        next += work.count
        thread.postMessage(work, [])
        const [tally] = (await once(thread, 'message')) as [Tally]
        add(total, tally)
        onProgress?.(total)
      }
    } finally {
      await thread.terminate()
    }
  }
  await Promise.all(Array.from({ length: workers }, runSome))
  total.broken.sort((one, other) => one.seed - other.seed)
  return total
}

function add(total: Tally, { seeds, steps, seen, broken }: Tally): void {
  total.seeds += seeds
  total.steps += steps
  total.broken.push(...broken)
  for (const [name, count] of seen) total.seen.set(name, (total.seen.get(name) ?? 0) + count)
}

async function show({ first, seeds, serverCount, logKind = 'lmdb' }: Plan): Promise<void> {
  for (let seed = first; seed < first + seeds; seed += 1) {
    const { lines } = await run({ seed, seen: new Map(), isTraced: true, serverCount, logKind })
    print(`\nseed ${seed}:\n${lines.join('\n')}`)
  }
}

function replayOf(seed: number, servers: string | undefined, log: LogKind): string {
  const ofServers = servers === undefined ? '' : ` --servers ${servers}`
  return `npm run bench -- simulate --seed ${seed}${ofServers} --log ${log} --trace`
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
