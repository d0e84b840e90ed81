/**
 * `npm run bench -- import-kill --runs N`: imports killed (SIGKILL) at random moments, each over a snapshot that serves.
 * After each the catalogue has to serve a whole snapshot, old or new, whose recomputed hash is its id; and the import
 * that ends the programme has to leave nothing in the making.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateCommand } from '../../agent/sandbox/generate-command.ts'
import { openCatalog } from '../../store/catalog.ts'
import { buildingFolder } from '../../store/layout.ts'
import { SnapshotHash } from '../../store/snapshot-id.ts'
import { startChild } from '../support/child.ts'

const RUNS_DEFAULT = '20'
const ROWS = '20000'

export async function importKill({ runs = RUNS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'import-kill-'))
  try {
    const [old = '', next = ''] = await Promise.all(['1', '2'].map((seed) => generated(directory, seed)))
    const began = performance.now()
    const oldId = await whole(directory, old)
    const wholeMs = performance.now() - began
    let killed = 0
    let good = 0
    let switched = 0
    for (let run = 0; run < Number(runs); run += 1) {
      const child = startChild('test/support/import-child.js', ['import', next, directory], {})
      // A little beyond the end of an undisturbed import, so that every moment of it can be hit.
      await Promise.race([sleep(Math.random() * wholeMs * 1.05), child.ended])
      child.process.kill('SIGKILL')
      if ((await child.ended) === 'SIGKILL') killed += 1
      const served = await servedId(directory)
      if (served !== undefined) good += 1
      if (served !== oldId) {
        switched += 1
        await whole(directory, old)
      }
    }
    await whole(directory, next)
    const left = await readdir(buildingFolder(directory))
    process.stdout.write(
      `${runs} imports, ${killed} killed, ${switched} after the switch, ${good} with a whole snapshot served; ` +
        `${left.length} builds left after the next import\n`,
    )
    return good === Number(runs) && left.length === 0
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function generated(directory: string, seed: string): Promise<string> {
  const path = join(directory, `${seed}.zip`)
  const args = ['--rows', ROWS, '--seed', seed, '--out', path]
  await generateCommand({ args, print: () => undefined, progress: () => undefined })
  return path
}

/** Imports undisturbed; answers the id that is served then. */
async function whole(directory: string, path: string): Promise<string> {
  const child = startChild('test/support/import-child.js', ['import', path, directory], {})
  const code = await child.ended
  const id = await servedId(directory)
  if (code !== 0 || id === undefined) throw new Error(`an undisturbed import failed: ${child.stderr()}`)
  return id
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
