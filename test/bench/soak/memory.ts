/** The memory of each node in the phase without kills, in which its process stays the same. */
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../statistics.ts'
import type { MemorySample, SoakNode } from './node.ts'

const SAMPLES = 60
/** The heap after a garbage collection varies by about this much. */
const HEAP_GROWTH_MIB_MAX = 3

export interface NodeMemory {
  node: string
  /** Medians of each third of the phase, in MiB. */
  heap: readonly number[]
  anonymous: readonly number[]
}

/** Returns at the end of the phase. */
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

/** The heap must not grow from the second third to the last one. The first third fills caches. */
export function heapFaults(memory: readonly NodeMemory[]): string[] {
  return memory.flatMap(({ node, heap: [, second = 0, last = 0] }) => {
    const growth = last - second
    return growth < HEAP_GROWTH_MIB_MAX ? [] : [`the heap of ${node} grew by ${growth.toFixed(1)} MiB`]
  })
}

function thirds(values: readonly number[]): number[] {
  return [0, 1, 2].map((third) => median(values.slice((SAMPLES * third) / 3, (SAMPLES * (third + 1)) / 3)))
}
