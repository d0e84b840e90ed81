/**
 * `npm run bench -- simulate --seeds N [--seed S] [--servers N] [--trace]`: sales in a simulated world of faults, each run
 * decided by one integer; docs/reliability.md says what is simulated and what must hold. Fails when a promise is broken,
 * and then prints the run's trace; `--seed S` runs that one again.
 */
import { run, type RunResult } from './simulate/run.ts'

const SEEDS_DEFAULT = '20000'
const SHOWN_MAX = 2
/** Lets signals through. */
const BREATH_EVERY = 100

export async function simulate(options: Record<string, string>): Promise<boolean> {
  const { seed, seeds = seed === undefined ? SEEDS_DEFAULT : '1', servers = '2', trace } = options
  const first = Number(seed ?? 1)
  const seen = new Map<string, number>()
  const failures: RunResult[] = []
  const start = performance.now()
  let steps = 0
  for (let each = first; each < first + Number(seeds); each += 1) {
    const result = await run({ seed: each, seen, isTraced: trace !== undefined, serverCount: Number(servers) })
    steps += result.steps
    if (result.broken) failures.push(result)
    else if (trace !== undefined) say(result.lines.join('\n'))
    if (each % BREATH_EVERY === 0) await new Promise((resolve) => void setImmediate(resolve))
  }
  const took = (performance.now() - start) / 1000
  for (const name of [...seen.keys()].toSorted()) say(`${String(seen.get(name)).padStart(10)}  ${name}`)
  for (const { seed: failed } of failures.slice(0, SHOWN_MAX)) {
    const { lines } = await run({ seed: failed, seen: new Map(), isTraced: true, serverCount: Number(servers) })
    say(`\nseed ${failed}:\n${lines.join('\n')}`)
  }
  for (const kind of new Set(failures.map(({ broken }) => broken?.invariant))) {
    const of = failures.filter(({ broken }) => broken?.invariant === kind)
    say(`${of.length} x ${kind}, first with seed ${of[0]?.seed}`)
  }
  say(
    `${seeds} seeds from ${first}, ${servers} servers, ${steps} steps: ${failures.length} broken; ` +
      `${took.toFixed(1)} s, ${(Number(seeds) / took).toFixed(0)} seeds per second`,
  )
  return failures.length === 0
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
