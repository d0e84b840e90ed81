/** Kills of a soak: one node or the database at a time, in turn, after random pauses. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SoakDatabase } from './database.ts'
import type { SoakNode } from './node.ts'

/** The pause between two kills, on average. */
const KILL_EVERY_MS = 15_000
/** Everything is killed at least once, also in a short phase. */
const KILLS_MIN = 4

interface KillsOptions {
  nodes: readonly SoakNode[]
  database: SoakDatabase | undefined
  /** The phase lasts at least this long, and at least until `KILLS_MIN` kills. */
  milliseconds: number
}

/** @returns the number of kills by name */
export async function killInTurn({ nodes, database, milliseconds }: KillsOptions): Promise<Map<string, number>> {
  const killed = nodes.flatMap((node) => (database ? [node, { ...database, name: 'PostgreSQL' }] : [node]))
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
