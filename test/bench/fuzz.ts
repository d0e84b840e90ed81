/**
 * `bench fuzz [--runs N] [--seed S]`: generated requests to the whole service over real sockets, with a facilitator and a
 * chain that accept everything. Every response must be documented, and nothing may be recorded, sold or logged.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startFakedService } from '../support/faked-service.ts'
import { fuzz as run } from './fuzz/run.ts'
import { markdown } from './markdown.ts'

const RUNS = 200_000
/** Growth of the warm heap: the rate limit's window of 20,000 requests, and the variation between collections. */
const GROWTH_MIB_MAX = 16
const MIB = 1024 * 1024
const HEAP_SAMPLES = 10

export async function fuzz({ runs = String(RUNS), seed = '1' }: Record<string, string>): Promise<boolean> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const service = await startFakedService()
  const total = Number(runs)
  const heap: number[] = []
  const start = performance.now()
  const result = await run(service, {
    runs: total,
    seed: Number(seed),
    onBatch: (sent) => {
      if (sent < ((heap.length + 1) * total) / HEAP_SAMPLES) return
      collect()
      heap.push(process.memoryUsage().heapUsed / MIB)
    },
  })
  const seconds = (performance.now() - start) / 1000
  const { settled, recorded } = service.counts()
  await service.stop()

  const print = (line: string) => void process.stdout.write(`${line}\n`)
  const responses = [...result.responses].toSorted(([one], [other]) => one - other)
  print(`${result.requests} requests of seed ${seed} in ${seconds.toFixed(0)} s`)
  print(
    markdown(
      ['status', 'responses'],
      responses.map(([status, count]) => [String(status), String(count)]),
    ),
  )
  print(`heap after each tenth, MiB: ${heap.map((each) => each.toFixed(1)).join(' ')}`)
  const failures = service.failures().map(({ msg, error }) => `${msg} ${String(error)}`)
  print(`recorded ${recorded}, settled ${settled}, log lines ${failures.length}`)
  for (const line of new Set(failures)) print(`  ${line}`)
  for (const [fault, { count, first }] of result.faults) print(`FAULT ${count} x ${fault}\n  ${first}`)
  // The first half warms up.
  const half = heap.slice(Math.floor(heap.length / 2))
  const isFlat = half.length < 2 || (half.at(-1) ?? 0) - (half[0] ?? 0) <= GROWTH_MIB_MAX
  if (!isFlat) print('FAULT the heap grows')
  const faults = result.faults.size + failures.length + recorded + settled + (isFlat ? 0 : 1)
  print(`${result.requests} requests, ${faults} faults`)
  return faults === 0
}
