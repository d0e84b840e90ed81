/** The command `import`: takes an archive into the data directory, beside a running service or without one. */
import { openCatalog } from '../catalog.ts'
import { CRO_COMPANIES, SYNTHETIC } from '../source.ts'
import type { Processes } from './build.ts'
import { printInfo, progressLines } from './report.ts'
import { importDataset } from './run.ts'

const MIB = 2 ** 20

interface Terminal {
  dataDirectory: string
  path: string
  /** Whether the records are made up, and so not to be sold under the register's name. */
  synthetic: boolean
  processes: Processes
  now: () => Date
  /** The most that this process has held so far, in bytes. */
  peakMemory: () => number
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
  peakMemory,
  print,
  progress,
}: Terminal): Promise<number> {
  const catalog = openCatalog(dataDirectory)
  try {
    const began = now().getTime()
    const lineOf = progressLines(now)
    const { info, changed } = await importDataset({
      dataDirectory,
      catalog,
      path,
      processes,
      publication: synthetic ? SYNTHETIC : CRO_COMPANIES,
      now,
      onProgress: (done) => progress(lineOf(done)),
    })
    progress('')
    print(changed ? 'imported' : 'unchanged since the last import')
    printInfo(info, print)
    print(`seconds     ${((now().getTime() - began) / 1000).toFixed(1)}`)
    print(`memory      ${Math.round(peakMemory() / MIB)} MiB at most`)
    return 0
  } finally {
    await catalog.close()
  }
}
