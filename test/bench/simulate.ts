/**
 * `bench simulate [--seeds N] [--from SEED] [--workers N] [--trace]`: sales under injected faults, one run for each
 * seed. docs/reliability.md lists the faults and the invariants. A broken invariant is printed with the trace of its
 * run and the command that replays it. Runs are independent, so a range of seeds can be run in parts.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { RECORD_STATES, STATES } from '../../store/log/states.ts'
import { run } from './simulate/run.ts'
import type { Batch, Tally } from '../programs/simulate-worker.ts'
import { print } from './report.ts'

const SEEDS_DEFAULT = '20000'
const SHOWN_MAX = 2
/** Seeds that a thread gets at a time: a few seconds of work, so that all threads finish at about the same time. */
const BATCH = 500

/** Every change of a record, as the simulated log counts it. */
const CHANGES: readonly string[] = [
  'none -> prepared',
  ...RECORD_STATES.flatMap((state) => STATES[state].next.map((next) => `${state} -> ${next}`)),
]

/** Seen less than ten times in 500 seeds. Shorter runs need not have them. */
const RARE: ReadonlySet<string> = new Set([
  'prepared -> rejected',
  'prepared -> expired',
  'settled -> unknown',
  'refused -> settled',
  'refused -> rejected',
  'rejected -> settled',
  'expired -> settled',
])
/** Seeds from which on every change must be seen. */
const SEEDS_OF_ALL = 15_000

interface Plan {
  first: number
  seeds: number
  workers: number
}

export async function simulate(options: Record<string, string>): Promise<boolean> {
  const { from = '1', seeds = SEEDS_DEFAULT, workers = '1', trace } = options
  const plan = { first: Number(from), seeds: Number(seeds), workers: Number(workers) }
  if (trace !== undefined) for (let seed = plan.first; seed < plan.first + plan.seeds; seed += 1) await show(seed)
  const start = performance.now()
  const { steps, seen, broken } = await runAll(plan)
  const took = (performance.now() - start) / 1000
  for (const name of [...seen.keys()].toSorted()) print(`${String(seen.get(name)).padStart(10)}  ${name}`)
  if (trace === undefined) for (const { seed } of broken.slice(0, SHOWN_MAX)) await show(seed)
  for (const kind of new Set(broken.map(({ invariant }) => invariant))) {
    const of = broken.filter(({ invariant }) => invariant === kind).map((each) => each.seed)
    print(`${of.length} x ${kind}: npm run bench -- simulate --from ${of[0]} --seeds 1 --trace`)
  }
  const missing = CHANGES.filter((change) => !seen.has(`state ${change}`))
  print(
    `${describeCoverage(seen, missing)}\n${seeds} seeds from ${from}, 1 to 3 servers, ${workers} workers, ${steps} steps: ` +
      `${broken.length} broken; ${took.toFixed(1)} s, ${(plan.seeds / took).toFixed(0)} seeds per second`,
  )
  const lacking = plan.seeds < SEEDS_OF_ALL ? missing.filter((change) => !RARE.has(change)) : missing
  // A trace is read by a person.
  return broken.length === 0 && (lacking.length === 0 || trace !== undefined)
}

/** Shows that a faster simulation has not become a weaker one. */
function describeCoverage(seen: ReadonlyMap<string, number>, missing: readonly string[]): string {
  const faults = [...seen.keys()].filter((name) => name.startsWith('fault ')).length
  const list = missing.length === 0 ? '' : ` (not: ${missing.join(', ')})`
  return `${CHANGES.length - missing.length} of ${CHANGES.length} changes of a record${list}, ${faults} kinds of faults`
}

/** Each thread gets the next seeds when it has finished its last. The result does not depend on the threads. */
async function runAll({ first, seeds, workers }: Plan): Promise<Tally> {
  const total: Tally = { steps: 0, seen: new Map(), broken: [] }
  const end = first + seeds
  let next = first
  const runSome = async () => {
    const thread = new Worker(new URL('../programs/simulate-worker.js', import.meta.url))
    try {
      while (next < end) {
        const work: Batch = { first: next, count: Math.min(BATCH, end - next) }
        next += work.count
        thread.postMessage(work, [])
        const [{ steps, seen, broken }] = (await once(thread, 'message')) as [Tally]
        total.steps += steps
        total.broken.push(...broken)
        for (const [name, count] of seen) total.seen.set(name, (total.seen.get(name) ?? 0) + count)
      }
    } finally {
      await thread.terminate()
    }
  }
  await Promise.all(Array.from({ length: workers }, runSome))
  total.broken.sort((one, other) => one.seed - other.seed)
  return total
}

async function show(seed: number): Promise<void> {
  const { lines } = await run(seed, new Map(), true)
  print(`\nseed ${seed}:\n${lines.join('\n')}`)
}
