/** Memory of the nodes in the phase without kills, and the latency of a client beside others that pipeline requests. */
import { setTimeout as sleep } from 'node:timers/promises'
import { measurePipelining, type PipeliningResult } from '../load/pipelining.ts'
import type { ServerProcess } from '../load/server-process.ts'
import { lookupPath } from '../load/workloads.ts'
import { markdown } from '../markdown.ts'
import { median } from '../statistics.ts'
import type { MemorySample, SoakNode } from './node.ts'

const SAMPLES = 60
/** The heap after a garbage collection varies by about this much. */
const HEAP_GROWTH_MIB_MAX = 3
const PIPELINING_CLIENTS = [180, 500]
const P99_MS_MAX = 1_000
const ANONYMOUS_MIB_MAX = 400

interface NodeMemory {
  node: string
  /** Medians of each third of the phase, in MiB. */
  heap: readonly number[]
  anonymous: readonly number[]
}

/** Samples the memory of the nodes for a phase in which no node restarts. */
export async function sampleMemory(nodes: readonly SoakNode[], milliseconds: number): Promise<NodeMemory[]> {
  const samples = new Map<SoakNode, MemorySample[]>(nodes.map((node) => [node, []]))
  for (let count = 0; count < SAMPLES; count += 1) {
    await sleep(milliseconds / SAMPLES)
    for (const [node, list] of samples) list.push(await node.sampleMemory())
  }
  return [...samples].map(([{ name }, list]) => ({
    node: name,
    heap: thirds(list.map(({ heap }) => heap)),
    anonymous: thirds(list.map(({ anonymous }) => anonymous)),
  }))
}

function thirds(values: readonly number[]): number[] {
  return [0, 1, 2].map((third) => median(values.slice((SAMPLES * third) / 3, (SAMPLES * (third + 1)) / 3)))
}

/** The heap must not grow from the second third to the last one. The first third fills caches. */
export function heapFaults(memory: readonly NodeMemory[]): string[] {
  return memory.flatMap(({ node, heap: [, second = 0, last = 0] }) => {
    const growth = last - second
    return growth < HEAP_GROWTH_MIB_MAX ? [] : [`the heap of ${node} grew by ${growth.toFixed(1)} MiB`]
  })
}

export function memoryTable(memory: readonly NodeMemory[]): string {
  const rows = memory.flatMap(({ node, heap, anonymous }) => [
    [`${node}, heap`, ...heap.map((value) => value.toFixed(1))],
    [`${node}, anonymous`, ...anonymous.map((value) => value.toFixed(1))],
  ])
  return markdown(['without kills, MiB', 'first third', 'middle third', 'last third'], rows)
}

/** Measures the latency of one client, once for each number of pipelining clients. */
export async function measureAllPipelining(server: ServerProcess, companyNumber: string, seconds: number) {
  const requests = [
    { path: lookupPath(companyNumber), status: 402 },
    { path: '/attribution', status: 200 },
  ]
  const results: PipeliningResult[] = []
  for (const connections of PIPELINING_CLIENTS)
    results.push(await measurePipelining(server, { connections, seconds, requests }))
  return results
}

/** Memory does not depend on the speed of the machine, so it is always judged. */
export function pipeliningFaults(results: readonly PipeliningResult[], isLatencyJudged: boolean): string[] {
  return results.flatMap(({ connections, p99, anonymousMiB }) => {
    const faults: string[] = []
    if (isLatencyJudged && p99 >= P99_MS_MAX) faults.push(`p99 ${p99.toFixed(0)} ms`)
    if (anonymousMiB >= ANONYMOUS_MIB_MAX) faults.push(`${anonymousMiB.toFixed(0)} MiB of anonymous memory`)
    return faults.map((fault) => `${connections} pipelining clients: ${fault}`)
  })
}

export function pipeliningTable(results: readonly PipeliningResult[]): string {
  const lines = results.map(({ connections, p99, anonymousMiB }) => {
    return [String(connections), p99.toFixed(1), anonymousMiB.toFixed(0)]
  })
  return markdown(['pipelining clients', 'p99 of another client, ms', 'anonymous memory, MiB'], lines)
}
