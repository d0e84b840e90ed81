/**
 * One import as a process of its own, for what is measured or killed. Run as `node dist/test/support/import-child.js
 * import|split PATH DIRECTORY`: `split` only unzips and counts line ends, the least that any import does.
 */
import { randomUUID } from 'node:crypto'
import { openCatalog } from '../../store/catalog.ts'
import { openCsv } from '../../store/import/archive.ts'
import { importDataset } from '../../store/import/run.ts'
import { SYNTHETIC } from '../../store/source.ts'

const LINE_FEED = 10

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
  const request = { dataDirectory, catalog, path, publication: SYNTHETIC, processes, now: () => new Date() }
  const { info } = await importDataset(request)
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

const [kind, path = '', directory = ''] = process.argv.slice(2)
const began = performance.now()
const rows = kind === 'split' ? await split(path) : await importAll(path, directory)
const seconds = (performance.now() - began) / 1000
process.stdout.write(`rows ${rows}\nseconds ${seconds}\nmemory ${process.resourceUsage().maxRSS / 1024}\n`)
