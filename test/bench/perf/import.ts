/**
 * An import of a generated register, beside one of the same records into SQLite with a trigram index of names, and beside
 * inflating the archive and splitting its lines. Only the service's import checks for contradictions and computes an id.
 */
import { join } from 'node:path'
import { generateArchive, runImport } from '../generated-register.ts'
import { installPeers } from '../install-peers.ts'
import { withBaseline, type MeasureRows } from './perf-row.ts'

export const measureImport: MeasureRows = async ({ size, directory }) => {
  await installPeers()
  const path = join(directory, 'imported.zip')
  await generateArchive({ rows: size.importRows, seed: 1, path })
  const split = await runImport('split', path, directory)
  const own = await runImport('import', path, importedDirectory(directory))
  const sqlite = await runImport('sqlite', path, join(directory, 'sqlite'))
  if (own.rows !== size.importRows) throw new Error(`${own.rows} of ${size.importRows} rows were imported`)
  const peer = (value: number) => ({ name: 'SQLite, trigram index', value })
  return [
    withBaseline('import cpu', own.cpuSeconds, peer(sqlite.cpuSeconds)),
    withBaseline('import time', own.seconds, { name: 'inflate and split lines', value: split.seconds }),
    withBaseline('import memory', own.memory, peer(sqlite.memory)),
  ]
}

/** The data directory with the imported register. */
export function importedDirectory(directory: string): string {
  return join(directory, 'imported')
}
