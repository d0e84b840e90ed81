/**
 * `bench fuzz --runs N --seed S`: generated requests against a whole service over real sockets, with a facilitator and a
 * chain that would agree to anything. Good when every answer is one of ours and nothing was recorded, sold or kept.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startFakedService } from '../support/faked-service.ts'
import { fuzz as run } from './fuzz/run.ts'
import { markdown } from './targets.ts'

/** Of a release; CI takes fewer. */
const RUNS = 200_000
/** What the heap may grow by once warm: the limit's own window of 20,000 requests, and the noise of a collection. */
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

  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const replies = [...result.replies].toSorted(([one], [other]) => one - other)
  say(`${result.requests} requests of seed ${seed} in ${seconds.toFixed(0)} s`)
  say(
    markdown(
      ['status', 'answers'],
      replies.map(([status, count]) => [String(status), String(count)]),
    ),
  )
  say(`heap after each tenth, MiB: ${heap.map((each) => each.toFixed(1)).join(' ')}`)
  say(`recorded ${recorded}, settled ${settled}, lines in the log ${service.lines.length}`)
  for (const line of new Set(service.lines)) say(`  ${line}`)
  for (const [fault, { count, first }] of result.faults) say(`FAULT ${count} x ${fault}\n  ${first}`)
  // The first half is for warming up.
  const half = heap.slice(Math.floor(heap.length / 2))
  const isFlat = half.length < 2 || (half.at(-1) ?? 0) - (half[0] ?? 0) <= GROWTH_MIB_MAX
  if (!isFlat) say('FAULT the heap grows')
  return result.faults.size === 0 && service.lines.length === 0 && recorded + settled === 0 && isFlat
}
