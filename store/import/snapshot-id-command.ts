/** The command `snapshot-id`: recomputes the id of an archive without keeping anything, for who checks ours. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buildFile, type Processes } from './build.ts'
import { printInfo, progressLines } from './report.ts'

interface Terminal {
  path: string
  /** Where a folder is made for the time it takes. */
  temporaryDirectory: string
  processes: Processes
  now: () => Date
  print: (line: string) => void
  progress: (line: string) => void
}

/** Prints the counts and the id. Throws an ImportError when the archive is refused. */
export async function snapshotIdCommand(terminal: Terminal): Promise<number> {
  const { path, temporaryDirectory, processes, now, print, progress } = terminal
  const dataDirectory = await mkdtemp(join(temporaryDirectory, 'snapshot-id-'))
  try {
    const lineOf = progressLines(now)
    const info = await buildFile({
      dataDirectory,
      path,
      processes,
      now,
      onProgress: (done) => progress(lineOf(done)),
    })
    progress('')
    printInfo(info, print)
    return 0
  } finally {
    await rm(dataDirectory, { recursive: true, force: true })
  }
}
