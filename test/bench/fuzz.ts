/**
 * `bench fuzz [--runs N] [--seed S]`: generated requests to the whole service over real sockets, with a facilitator and
 * a chain that accept everything. Every response must be documented, and nothing may be recorded, sold or logged.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import type { OpenApiDescription } from '../support/openapi-check.ts'
import { startFakedService, type FakedService } from '../support/faked-service.ts'
import { signedPayment } from '../support/payments.ts'
import { findFault } from './fuzz/find-fault.ts'
import { RawConnection } from './fuzz/raw-connection.ts'
import { requestsOf, type FuzzRequest } from './fuzz/requests.ts'
import { markdown } from './markdown.ts'
import { print } from './print.ts'

const RUNS = '200000'
const CONNECTIONS = 16
/** Requests that are generated at a time. */
const BATCH = 1_000
const SHOWN_CHARACTERS_MAX = 600
/** Growth of the warm heap: the rate limit's window of 20,000 requests, and the variation between collections. */
const GROWTH_MIB_MAX = 16
const MIB = 1024 * 1024
const HEAP_SAMPLES = 10

export async function fuzz({ runs = RUNS, seed = '1' }: Record<string, string>): Promise<boolean> {
  const service = await startFakedService()
  const start = performance.now()
  const { responses, faults, heap } = await sendAll(service, { runs: Number(runs), seed: Number(seed) })
  const seconds = (performance.now() - start) / 1000
  const { settled, recorded } = service.counts()
  await service.stop()

  const rows = [...responses].toSorted(([one], [other]) => one - other)
  print(`${runs} requests of seed ${seed} in ${seconds.toFixed(0)} s`)
  print(
    markdown(
      ['status', 'responses'],
      rows.map(([status, count]) => [String(status), String(count)]),
    ),
  )
  print(`heap after each tenth, MiB: ${heap.map((each) => each.toFixed(1)).join(' ')}`)
  const failures = service.failures().map(({ msg, error }) => `${msg} ${String(error)}`)
  print(`recorded ${recorded}, settled ${settled}, log lines ${failures.length}`)
  for (const line of new Set(failures)) print(`  ${line}`)
  for (const [fault, { count, first }] of faults) print(`FAULT ${count} x ${fault}\n  ${first}`)
  // The first half warms up.
  const half = heap.slice(Math.floor(heap.length / 2))
  const isFlat = half.length < 2 || (half.at(-1) ?? 0) - (half[0] ?? 0) <= GROWTH_MIB_MAX
  if (!isFlat) print('FAULT the heap grows')
  const sum = faults.size + failures.length + recorded + settled + (isFlat ? 0 : 1)
  print(`${runs} requests, ${sum} faults`)
  return sum === 0
}

async function sendAll(service: FakedService, { runs, seed }: { runs: number; seed: number }) {
  const description = await descriptionOf(service)
  const payment = await signedPayment({ signed: { nonce: `0x${'77'.repeat(32)}` } })
  const paths = Object.keys(description.paths)
  const requests = requestsOf({ paths, payment, extensionUri: `${service.url}/docs#http-x402-v1` })
  const responses = new Map<number, number>()
  /** By fault: how often it occurred, and the first request as text. */
  const faults = new Map<string, { count: number; first: string }>()
  const heap: number[] = []
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void

  function note(fault: string | undefined, { bytes }: FuzzRequest): void {
    if (fault === undefined) return
    const known = faults.get(fault)
    const first = known?.first ?? JSON.stringify(bytes.toString('latin1')).slice(0, SHOWN_CHARACTERS_MAX)
    faults.set(fault, { count: (known?.count ?? 0) + 1, first })
  }

  async function sendOne(connection: RawConnection, request: FuzzRequest): Promise<void> {
    const { bytes, method, isFramed } = request
    const response = isFramed ? await connection.send(bytes, method) : undefined
    const received = isFramed ? (response ? [response] : []) : await connection.sendUnframed(bytes, method)
    if (isFramed && !response) note('there is no response', request)
    for (const each of received) {
      responses.set(each.status, (responses.get(each.status) ?? 0) + 1)
      note(findFault(description, request, each), request)
    }
  }

  const connections = Array.from({ length: CONNECTIONS }, () => new RawConnection(Number(new URL(service.url).port)))
  for (let sent = 0; sent < runs; sent += BATCH) {
    const batch = fc.sample(requests, { numRuns: Math.min(BATCH, runs - sent), seed: seed + sent })
    const worker = async (connection: RawConnection) => {
      for (let request = batch.pop(); request; request = batch.pop()) await sendOne(connection, request)
    }
    await Promise.all(connections.map(worker))
    if (sent + BATCH < ((heap.length + 1) * runs) / HEAP_SAMPLES) continue
    collect()
    heap.push(process.memoryUsage().heapUsed / MIB)
  }
  for (const connection of connections) connection.close()
  return { responses, faults, heap }
}

/** The OpenAPI description without paths that this deployment does not serve. */
async function descriptionOf({ url }: FakedService): Promise<OpenApiDescription> {
  const description = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDescription
  for (const path of Object.keys(description.paths)) {
    if ((await fetch(url + path)).status === 404) delete description.paths[path]
  }
  return description
}
