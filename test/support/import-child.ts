/**
 * One import as a process of its own, for what is measured or killed. Run as `node dist/test/support/import-child.js
 * import|split|sqlite|sqlite-search PATH DIRECTORY`: `split` only unzips and counts line ends, the least that any import does, and
 * `sqlite` and `sqlite-search` put the same records into another store. Says when it begins, what it is doing, and what it has taken.
 */
import { randomUUID } from 'node:crypto'
import { openCatalog } from '../../store/catalog.ts'
import { openCsv } from '../../store/import/archive.ts'
import { importDataset } from '../../store/import/run.ts'
import { SYNTHETIC } from '../../store/source.ts'

const LINE_FEED = 10

const say = (line: string) => void process.stdout.write(`${line}\n`)

async function importAll(path: string, dataDirectory: string): Promise<number> {
  const catalog = openCatalog(dataDirectory)
  const isRunning = (id: number) => {
    try {
      return process.kill(id, 0)
    } catch {
      return false
    }
  }
  const processes = { own: process.pid, token: randomUUID(), isRunning }
  let phase = ''
  const { info } = await importDataset({
    dataDirectory,
    catalog,
    path,
    publication: SYNTHETIC,
    processes,
    now: () => new Date(),
    onProgress(progress) {
      if (progress.phase !== phase) say(`phase ${progress.phase}`)
      phase = progress.phase
    },
  })
  await catalog.close()
  return info.row_count
}

async function split(path: string): Promise<number> {
  let lines = 0
  for await (const chunk of (await openCsv(path)) as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) lines += 1
  }
  return lines
}

/** Loaded for itself alone: its library counts as memory of every process that has it. */
async function sqlite(path: string, directory: string, isSearchable = false): Promise<number> {
  const { importIntoSqlite } = await import('./sqlite.ts')
  return importIntoSqlite({ path, directory, isSearchable })
}

const KINDS = {
  import: importAll,
  split,
  sqlite,
  'sqlite-search': (from: string, to: string) => sqlite(from, to, true),
}

const [kind = 'import', path = '', directory = ''] = process.argv.slice(2)
say('began')
const began = performance.now()
const rows = await KINDS[kind as keyof typeof KINDS](path, directory)
const seconds = (performance.now() - began) / 1000
const { user, system } = process.cpuUsage()
say(`rows ${rows}\nseconds ${seconds}\ncpu ${(user + system) / 1e6}\nmemory ${process.resourceUsage().maxRSS / 1024}`)
