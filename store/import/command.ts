/** The command `import`: takes an archive into the data directory, beside a running service or without one. */
import { openCatalog } from '../catalog.ts'
import type { SnapshotInfo } from '../snapshot.ts'
import { CRO_COMPANIES, SYNTHETIC } from '../source.ts'
import type { Processes, Progress } from './build.ts'
import { importDataset } from './run.ts'

interface Terminal {
  dataDirectory: string
  path: string
  /** Whether the records are made up, and so not to be sold under the register's name. */
  synthetic: boolean
  processes: Processes
  now: () => Date
  print: (line: string) => void
  /** Shows where the import is, in place of what it showed before. */
  progress: (line: string) => void
}

/** Prints the counts and the snapshot id. Throws an ImportError when the archive is refused. */
export async function importCommand({
  dataDirectory,
  path,
  synthetic,
  processes,
  now,
  print,
  progress,
}: Terminal): Promise<number> {
  const catalog = openCatalog(dataDirectory)
  try {
    const began = now().getTime()
    const { info, changed } = await importDataset({
      dataDirectory,
      catalog,
      path,
      processes,
      publication: synthetic ? SYNTHETIC : CRO_COMPANIES,
      now,
      onProgress: (done) => progress(progressLine(done)),
    })
    progress('')
    print(
      changed ? `imported in ${((now().getTime() - began) / 1000).toFixed(1)} s` : 'unchanged since the last import',
    )
    printInfo(info, print)
    return 0
  } finally {
    await catalog.close()
  }
}

export function progressLine({ phase, rows }: Progress): string {
  return `${phase === 'rows' ? 'reading' : 'hashing'} ${rows} rows`
}

/** What an import has made, a line a count. */
export function printInfo(info: SnapshotInfo, print: (line: string) => void): void {
  print(`rows        ${info.row_count}`)
  print(`companies   ${info.company_count}`)
  print(`quarantined ${info.quarantined_company_count}`)
  print(`rejected    ${info.rejected_row_count}`)
  for (const [finding, count] of Object.entries(info.findings)) print(`  ${finding} ${count}`)
  print(`snapshot    ${info.snapshot_id}`)
}
