/** Imports of a soak: at each time the other register replaces the archive, and every node must serve it. */
import { copyFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SoakNode } from './node.ts'
import type { Register } from './snapshot-check.ts'

const POLL_MS = 1_000
/** Much longer than the import of the largest register of a soak. */
const IMPORT_MS_MAX = 300_000

interface ImportsOptions {
  nodes: readonly SoakNode[]
  dataset: string
  registers: readonly [Register, Register]
  /** In milliseconds from now. */
  times: readonly number[]
  onFault: (fault: string) => void
}

/** @returns the number of imports; the nodes serve the first register at the beginning */
export async function importInTurn({ nodes, dataset, registers, times, onFault }: ImportsOptions): Promise<number> {
  const begun = performance.now()
  for (const [index, time] of times.entries()) {
    await sleep(Math.max(0, begun + time - performance.now()))
    const { archive, snapshotId } = registers[(index + 1) % registers.length] ?? registers[0]
    await copyFile(archive, dataset)
    const served = await Promise.all(nodes.map((node) => waitUntilServed(node, snapshotId)))
    if (served.includes(false)) onFault(`an import did not end in ${IMPORT_MS_MAX} ms`)
  }
  return times.length
}

/** Makes the retrieval due until the node serves the snapshot, because a kill can end a retrieval. */
async function waitUntilServed(node: SoakNode, snapshotId: string): Promise<boolean> {
  for (const end = performance.now() + IMPORT_MS_MAX; performance.now() < end;) {
    if ((await servedSnapshot(node)) === snapshotId) return true
    node.retrieve()
    await sleep(POLL_MS)
  }
  return false
}

async function servedSnapshot({ running }: SoakNode): Promise<string | undefined> {
  if (!running) return undefined
  try {
    const response = await fetch(`${running.server.url}/api/v1/meta`)
    return ((await response.json()) as { snapshot_id: string }).snapshot_id
  } catch {
    return undefined
  }
}
