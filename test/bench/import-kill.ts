/**
 * `npm run bench -- import-kill --runs N`: imports killed (SIGKILL) at random moments, of two archives in turn, each over a
 * snapshot of the other that serves. After each the catalogue has to serve a whole snapshot, old or new, whose recomputed
 * hash is its id; and the import that ends the programme has to leave nothing in the making.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateCommand } from '../../agent/sandbox/generate-command.ts'
import { openCatalog } from '../../store/catalog.ts'
import { buildingFolder } from '../../store/layout.ts'
import { SnapshotHash } from '../../store/snapshot-id.ts'
import { startChild, type Child } from '../support/child.ts'

const RUNS_DEFAULT = '20'
const ROWS = '20000'
/** What an import that was killed was doing, in order. */
const PHASES = ['before its first batch', 'rows', 'hash', 'ended before it was killed'] as const

type Phase = (typeof PHASES)[number]

interface Register {
  path: string
  id: string
}

interface Killed {
  phase: Phase
  served: string | undefined
}

export async function importKill({ runs = RUNS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'import-kill-'))
  try {
    const paths = await Promise.all(['1', '2'].map((seed) => generated(directory, seed)))
    const registers: Register[] = []
    let wholeMs = 0
    for (const path of paths) {
      const { id, seconds } = await whole(directory, path)
      registers.push({ path, id })
      // The second finds the caches warm, as all that follow do.
      wholeMs = seconds * 1000
    }
    const results: Killed[] = []
    for (let run = 0; run < Number(runs); run += 1) {
      const served = results.at(-1)?.served ?? registers[1]?.id
      const next = registers.find(({ id }) => id !== served)
      if (!next) break
      results.push(await killedAt(directory, next.path, Math.random() * wholeMs))
    }
    await whole(directory, paths[0] ?? '')
    await whole(directory, paths[1] ?? '')
    const left = await readdir(buildingFolder(directory))
    return report(results, { runs: Number(runs), registers, wholeMs, left: left.length })
  } finally {
    await rm(directory, { recursive: true })
  }
}

interface Ending {
  runs: number
  registers: Register[]
  wholeMs: number
  left: number
}

function report(results: Killed[], { runs, registers, wholeMs, left }: Ending): boolean {
  const ids = new Set(registers.map(({ id }) => id))
  const good = results.filter(({ served }) => served !== undefined && ids.has(served)).length
  const switches = results.filter(({ served }, index) => served !== (results[index - 1]?.served ?? registers[1]?.id))
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  print(`${runs} imports of ${ROWS} rows, killed at random moments of the ${Math.round(wholeMs)} ms that one takes`)
  for (const phase of PHASES) {
    print(`  ${phase.padEnd(26)} ${results.filter((result) => result.phase === phase).length}`)
  }
  const midway = results.filter(({ phase }) => phase !== 'ended before it was killed').length
  print(`${midway} killed in the middle; ${good} with a whole snapshot served, ${switches.length} of them the new one`)
  print(`${left} builds left after the next import`)
  return good === runs && left === 0
}

async function generated(directory: string, seed: string): Promise<string> {
  const path = join(directory, `${seed}.zip`)
  const args = ['--rows', ROWS, '--seed', seed, '--out', path]
  await generateCommand({ args, print: () => undefined, progress: () => undefined })
  return path
}

/** Kills an import so many milliseconds after it has begun. */
async function killedAt(directory: string, path: string, milliseconds: number): Promise<Killed> {
  const child = startImport(directory, path)
  while (!child.said.has('began') && child.process.exitCode === null) await sleep(1)
  await Promise.race([sleep(milliseconds), child.ended])
  child.process.kill('SIGKILL')
  const wasRunning = (await child.ended) === 'SIGKILL' && !child.said.has('rows')
  const phase = wasRunning ? (child.said.get('phase') ?? 'before its first batch') : 'ended before it was killed'
  return { phase: phase as Phase, served: await servedId(directory) }
}

/** Imports undisturbed; answers what is served then, and how long it took. */
async function whole(directory: string, path: string): Promise<{ id: string; seconds: number }> {
  const child = startImport(directory, path)
  const code = await child.ended
  const id = await servedId(directory)
  if (code !== 0 || id === undefined) throw new Error(`an undisturbed import failed: ${child.stderr()}`)
  return { id, seconds: Number(child.said.get('seconds')) }
}

function startImport(directory: string, path: string): Child {
  return startChild('test/support/import-child.js', ['import', path, directory], {})
}

/** The id that the catalogue serves, if the records read from its snapshot give the same. */
async function servedId(directory: string): Promise<string | undefined> {
  const catalog = openCatalog(directory)
  try {
    const snapshot = catalog.current()?.snapshot
    if (!snapshot) return undefined
    const hash = new SnapshotHash()
    for (const [number, entry] of snapshot.entries()) hash.add(number, entry)
    return hash.id() === snapshot.info.snapshot_id ? snapshot.info.snapshot_id : undefined
  } finally {
    await catalog.close()
  }
}
