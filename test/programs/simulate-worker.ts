/** A worker thread of `simulate`: runs batches of seeds and returns the counts and the broken invariants. */
import { parentPort } from 'node:worker_threads'
import { run } from '../bench/simulate/run.ts'

export interface Batch {
  first: number
  count: number
}

export interface Tally {
  steps: number
  seen: Map<string, number>
  broken: { seed: number; invariant: string }[]
}

// Without stack traces, because a run creates thousands of errors. The main thread repeats a broken run with its trace.
Error.stackTraceLimit = 0
parentPort?.on('message', (batch: Batch) => void work(batch))

async function work({ first, count }: Batch): Promise<void> {
  const tally: Tally = { steps: 0, seen: new Map(), broken: [] }
  for (let seed = first; seed < first + count; seed += 1) {
    const { steps, broken } = await run(seed, tally.seen)
    tally.steps += steps
    if (broken) tally.broken.push({ seed, invariant: broken.invariant })
  }
  parentPort?.postMessage(tally, [])
}
