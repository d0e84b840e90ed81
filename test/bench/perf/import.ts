/**
 * An import of a generated register, beside one of the same records into SQLite with a trigram index of names, and beside
 * inflating the archive and splitting its lines. Only the service's import checks for contradictions and computes an id.
 */
import { join } from 'node:path'
import { runImport } from '../generated-register.ts'
import { installPeers } from '../install-peers.ts'
import { withBaseline, type MeasureRows } from './perf-row.ts'

export const measureImport: MeasureRows = async ({ size, directory, register }) => {
  await installPeers()
  const { archive, cost: own } = await register(size.importRows)
  const split = await runImport('split', archive, directory)
  const sqlite = await runImport('sqlite', archive, join(directory, 'sqlite'))
  if (own.rows !== size.importRows) throw new Error(`${own.rows} of ${size.importRows} rows were imported`)
  const peer = (value: number) => ({ name: 'SQLite, trigram index', value })
  return [
    withBaseline('import cpu', own.cpuSeconds, peer(sqlite.cpuSeconds)),
    withBaseline('import time', own.seconds, { name: 'inflate and split lines', value: split.seconds }),
    withBaseline('import memory', own.memory, peer(sqlite.memory)),
  ]
}
