/** The actions of the commands `import` and `snapshot-id`. A service may run on the same data directory. */
import { Catalog } from '../dataset/catalog.ts'
import type { SnapshotInfo } from '../dataset/snapshot.ts'
import { CRO_COMPANIES, SYNTHETIC } from '../dataset/source.ts'
import type { ImportProgress } from './build.ts'
import { openBuildProcesses } from './build-process.ts'
import { openTemporaryFolder } from './old-folders.ts'
import { importDataset } from './run.ts'

const MIB = 2 ** 20

interface CommandOptions {
  path: string
  now: () => Date
  print: (line: string) => void
  onProgress: (progress: ImportProgress) => void
}

interface ImportCommandOptions extends CommandOptions {
  dataDirectory: string
  archiveDirectory?: string | undefined
  /** Whether the records are made up. They are then sold as synthetic, not under the register's name. */
  synthetic: boolean
  /** Accepts an archive that is older than the last one, too small, or that crashed an import (docs/data.md). */
  isForced: boolean
  /** Accepts a file that differs too much from the served snapshot. */
  areChangesAccepted: boolean
  /** Returns the peak memory of this process. */
  peakMemoryBytes: () => number
}

/** Imports an archive, and prints the counts and the snapshot id. Throws an ImportError if the archive is refused. */
export async function importCommand(options: ImportCommandOptions): Promise<void> {
  const { synthetic, peakMemoryBytes, print, ...request } = options
  const { dataDirectory, now } = request
  await using catalog = new Catalog(dataDirectory)
  const startedAt = now().getTime()
  const publication = synthetic ? SYNTHETIC : CRO_COMPANIES
  const processes = openBuildProcesses()
  const result = await importDataset({ ...request, ...processes, catalog, publication })
  const { info, changed, changes, compared } = result
  print(changed ? 'imported' : 'unchanged since the last import')
  printSnapshotInfo(info, print)
  if (changes) print(`changes     ${changes.added} added, ${changes.removed} removed, ${changes.changed} changed`)
  for (const { text, isBeyond } of compared) print(`${isBeyond ? 'warning ' : 'compared'}    ${text}`)
  print(`seconds     ${((now().getTime() - startedAt) / 1000).toFixed(1)}`)
  print(`memory      ${Math.round(Math.max(peakMemoryBytes(), processes.peakMemoryBytes()) / MIB)} MiB at most`)
  if (result.historyFailure !== undefined) throw result.historyFailure
}

interface SnapshotIdCommandOptions extends CommandOptions {
  /** The parent of the new folder in which the snapshot is built. The new folder is removed afterwards. */
  temporaryDirectory: string
}

/**
 * Computes the snapshot id of an archive without storing anything, and prints it with the counts. Throws an ImportError
 * if the archive is refused.
 */
export async function snapshotIdCommand(options: SnapshotIdCommandOptions): Promise<void> {
  const { path, temporaryDirectory, now, print, onProgress } = options
  await using folder = await openTemporaryFolder(temporaryDirectory, 'snapshot-id-')
  const request = { dataDirectory: folder.path, path, importedAt: now().toISOString() }
  printSnapshotInfo(await openBuildProcesses().build(request, { onProgress }), print)
}

/** Findings about whole rows. Every other finding is about a value of a row. */
const ROW_FINDINGS = /^(?:rejected|row)_/

function printSnapshotInfo(info: SnapshotInfo, print: (line: string) => void): void {
  const findings = Object.entries(info.findings).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const ofRows = findings.filter(([name]) => ROW_FINDINGS.test(name))
  const ofValues = findings.filter(([name]) => !ROW_FINDINGS.test(name))
  print(`rows        ${info.row_count}`)
  print(`companies   ${info.company_count}`)
  print(`quarantined ${info.quarantined_company_count}`)
  print(`rejected    ${info.rejected_row_count}`)
  for (const [name, count] of ofRows) print(`  ${name} ${count}`)
  print(`values      ${ofValues.reduce((sum, [, count]) => sum + count, 0)} changed`)
  for (const [name, count] of ofValues) print(`  ${name} ${count}`)
  print(`snapshot    ${info.snapshot_id}`)
}
