/**
 * `bench import-kill [--runs N]`: kills imports (SIGKILL), whose builds run in child processes, at random times. Two
 * archives are imported in turn, while a snapshot of the other one is current. After each kill the catalog must serve a
 * whole snapshot, whose recomputed hash is its id. The last import must leave no unfinished build, and the journal must
 * be equal to one that records the same files without a kill.
 */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sampleRegister } from '../support/sample/register.ts'
import { Catalog } from '../../store/dataset/catalog.ts'
import { storedEntries } from '../../store/dataset/snapshot.ts'
import { buildingFolder, snapshotFolder } from '../../store/files/layout.ts'
import { historyDigest } from '../../store/history/digest.ts'
import { HistoryDatabase } from '../../store/history/history-database.ts'
import { recordFile } from '../../store/history/record.ts'
import { SnapshotHash } from '../../store/dataset/snapshot-id.ts'
import { startChild, type Child } from '../support/child.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { print } from './print.ts'

const RUNS_DEFAULT = '20'
const ROWS = '20000'
/** The second archive lacks each such row, so that the journal of many imports stays small. */
const REMOVED_EVERY = 250
/** An import removes what killed ones have left after ten minutes. */
const ABANDONED_AFTER_MS = 11 * 60_000
/** The phases at which an import can be killed, in order. */
const PHASES = ['before its first batch', 'rows', 'hash', 'ended before the kill'] as const

type Phase = (typeof PHASES)[number]

interface Register {
  path: string
  id: string
}

interface Killed {
  phase: Phase
  served: string | undefined
  /** Whether the journal has the new snapshot and the catalogue has not. */
  isAhead: boolean
}

export async function importKill({ runs = RUNS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const directory = await makeTemporaryDirectory()
  const paths = await generateTwo(directory)
  const registers: Register[] = []
  let wholeMs = 0
  for (const path of paths) {
    const { id, seconds } = await whole(directory, path)
    registers.push({ path, id })
    // The second import has warm caches, as all later ones.
    wholeMs = seconds * 1000
  }
  const results: Killed[] = []
  for (let run = 0; run < Number(runs); run += 1) {
    const served = results.at(-1)?.served ?? registers[1]?.id
    const next = registers.find(({ id }) => id !== served)
    if (!next) break
    results.push(await killedAt(directory, next.path, Math.random() * wholeMs))
  }
  await whole(directory, paths[0] ?? '', ABANDONED_AFTER_MS)
  await whole(directory, paths[1] ?? '', ABANDONED_AFTER_MS)
  const left = await readdir(buildingFolder(directory))
  const isJournalEqual = await compareJournal(directory)
  const ids = new Set(registers.map(({ id }) => id))
  const correct = results.filter(({ served }) => served !== undefined && ids.has(served)).length
  print(`${runs} imports of ${ROWS} rows, killed at random times of the ${Math.round(wholeMs)} ms that one takes`)
  for (const phase of PHASES) {
    print(`  ${phase.padEnd(26)} ${results.filter((result) => result.phase === phase).length}`)
  }
  const ahead = results.filter(({ isAhead }) => isAhead).length
  print(
    `${ahead} kills between the journal and the catalogue; the journal is ${isJournalEqual ? 'equal' : 'DIFFERENT'}`,
  )
  print(`${correct} of ${runs} kills left a whole snapshot served; ${left.length} unfinished builds at the end`)
  return correct === Number(runs) && left.length === 0 && isJournalEqual
}

async function generateTwo(directory: string): Promise<string[]> {
  const rows = [...sampleRegister({ rows: Number(ROWS), seed: 1 })]
  const fewer = rows.filter((_, index) => index % REMOVED_EVERY !== 1)
  const paths = [join(directory, '1.csv'), join(directory, '2.csv')]
  for (const [index, content] of [rows, fewer].entries()) await writeFile(paths[index] ?? '', content.join(''))
  return paths
}

/** Whether a new journal of the same files has the same digest, and its newest file is served. */
async function compareJournal(directory: string): Promise<boolean> {
  const journal = new HistoryDatabase(directory, { readOnly: true })
  const clean = new HistoryDatabase(join(directory, 'clean'), { readOnly: false })
  for (const key of journal.stepKeys()) {
    const step = journal.findStep(key)
    if (!step) throw new Error('a step is missing')
    const { snapshot_id, source } = step
    recordFile(
      clean,
      { snapshot_id, location: '', archive_sha256: '', source },
      storedEntries(snapshotFolder(directory, snapshot_id)),
    )
  }
  const newest = journal.findStep(journal.stepBefore() ?? '')?.snapshot_id
  const isEqual = historyDigest(journal) === historyDigest(clean) && newest === (await servedId(directory))
  await Promise.all([journal.close(), clean.close()])
  return isEqual
}

async function newestRecorded(directory: string): Promise<string | undefined> {
  const journal = new HistoryDatabase(directory, { readOnly: true })
  try {
    return journal.findStep(journal.stepBefore() ?? '')?.snapshot_id
  } finally {
    await journal.close()
  }
}

/** Kills an import at a time after its start. */
async function killedAt(directory: string, path: string, milliseconds: number): Promise<Killed> {
  const child = startImport(directory, path)
  while (!child.said.has('began') && child.process.exitCode === null) await sleep(1)
  await Promise.race([sleep(milliseconds), child.ended])
  child.process.kill('SIGKILL')
  const wasRunning = (await child.ended) === 'SIGKILL' && !child.said.has('rows')
  const phase = wasRunning ? (child.said.get('phase') ?? 'before its first batch') : 'ended before the kill'
  const served = await servedId(directory)
  return { phase: phase as Phase, served, isAhead: (await newestRecorded(directory)) !== served }
}

/** Imports without a kill; returns the id that is served then and the duration. */
async function whole(directory: string, path: string, msLater = 0): Promise<{ id: string; seconds: number }> {
  const child = startImport(directory, path, msLater)
  const code = await child.ended
  const id = await servedId(directory)
  if (code !== 0 || id === undefined) throw new Error(`an import without a kill failed: ${child.stderr()}`)
  return { id, seconds: Number(child.said.get('seconds')) }
}

function startImport(directory: string, path: string, msLater = 0): Child {
  return startChild('test/programs/run-import.js', ['import', path, directory, String(msLater)], {})
}

/** The id that the catalog serves, if the records of its snapshot have the same hash. */
async function servedId(directory: string): Promise<string | undefined> {
  const catalog = new Catalog(directory)
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
