/**
 * What happens to the services of a soak: nodes and PostgreSQL are killed in turn, and registers are imported in turn.
 */
import { copyFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { startDatabase } from '../log-kind.ts'
import type { SoakNode } from './node.ts'
import type { Register } from './snapshot-check.ts'

/** The pause between two kills, on average. */
const KILL_EVERY_MS = 15_000
/** Everything is killed at least once, also in a short phase. */
const KILLS_MIN = 4
const POLL_MS = 1_000
/** Much longer than the import of the largest register of a soak. */
const IMPORT_MS_MAX = 300_000

export type SoakDatabase = Awaited<ReturnType<typeof startSoakDatabase>>

/** The PostgreSQL server, and the times in which it did not answer. */
export async function startSoakDatabase() {
  const { url, server } = await startDatabase()
  /** In milliseconds of `performance.now`. */
  const outages: { from: number; until: number }[] = []
  return {
    name: 'PostgreSQL',
    url,
    /** SIGKILL and a restart. Ends when the server answers. */
    async restart(): Promise<void> {
      const outage = { from: performance.now(), until: Number.POSITIVE_INFINITY }
      outages.push(outage)
      await server.kill()
      await server.start()
      outage.until = performance.now()
    },
    /** Whether the server was down at some time in between. */
    wasDown: (from: number, until: number) => outages.some((outage) => outage.from <= until && from <= outage.until),
    [Symbol.asyncDispose]: () => server.stop(),
  }
}

/**
 * Kills the nodes and the database in turn, for at least so many milliseconds and at least `KILLS_MIN` times.
 * @returns the number of kills by name
 */
export async function killInTurn(
  nodes: readonly SoakNode[],
  database: SoakDatabase | undefined,
  milliseconds: number,
): Promise<Map<string, number>> {
  const killed = nodes.flatMap((node) => (database ? [node, database] : [node]))
  const pauseMs = Math.min(KILL_EVERY_MS, milliseconds / KILLS_MIN)
  const kills = new Map<string, number>()
  const end = performance.now() + milliseconds
  for (let index = 0; index < KILLS_MIN || performance.now() < end; index += 1) {
    await sleep(pauseMs * 2 * Math.random())
    const next = killed[index % killed.length]
    if (!next) break
    await next.restart()
    kills.set(next.name, (kills.get(next.name) ?? 0) + 1)
  }
  return kills
}

interface ImportsOptions {
  dataset: string
  registers: readonly [Register, Register]
  /** In milliseconds from now. */
  times: readonly number[]
  onFault: (fault: string) => void
}

/**
 * At each time the other register replaces the archive, and every node must serve it. The nodes begin with the first
 * one.
 */
export async function importInTurn(
  nodes: readonly SoakNode[],
  { dataset, registers, times, onFault }: ImportsOptions,
): Promise<void> {
  const begun = performance.now()
  for (const [index, time] of times.entries()) {
    await sleep(Math.max(0, begun + time - performance.now()))
    const { archive, snapshotId } = registers[(index + 1) % registers.length] ?? registers[0]
    await copyFile(archive, dataset)
    const served = await Promise.all(nodes.map((node) => waitUntilServed(node, snapshotId)))
    if (served.includes(false)) onFault(`an import did not end in ${IMPORT_MS_MAX} ms`)
  }
}

/** Makes the retrieval due again and again until the node serves the snapshot. A kill can end a retrieval. */
async function waitUntilServed(node: SoakNode, snapshotId: string): Promise<boolean> {
  for (const end = performance.now() + IMPORT_MS_MAX; performance.now() < end;) {
    if ((await node.servedSnapshot()) === snapshotId) return true
    node.retrieve()
    await sleep(POLL_MS)
  }
  return false
}
