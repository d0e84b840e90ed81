/**
 * One import as a process of its own, to be measured or killed. Run as `node run-import.js KIND PATH DIRECTORY
 * [MS_LATER]`. `import` is the import of the service; `sqlite` stores the same records in SQLite. Linux only. Prints
 * `began`, each `phase`, and at the end its rows, seconds, CPU seconds and peak memory.
 */
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Catalog } from '../../store/dataset/catalog.ts'
import { companySchema, type Company } from '../../store/dataset/company.ts'
import { openCsv } from '../../store/import/archive.ts'
import { openBuildProcesses } from '../../store/import/build-process.ts'
import { normalise } from '../../store/import/normalise.ts'
import { readRows } from '../../store/import/rows.ts'
import { importDataset } from '../../store/import/run.ts'
import { SYNTHETIC } from '../../store/dataset/source.ts'
import { peerPath } from '../bench/install-peers.ts'

const TICKS_PER_SECOND = 100

const print = (line: string) => void process.stdout.write(`${line}\n`)

const processes = openBuildProcesses()

async function importAll(path: string, dataDirectory: string): Promise<number> {
  const catalog = new Catalog(dataDirectory)
  let phase = ''
  const { info } = await importDataset({
    dataDirectory,
    catalog,
    path,
    publication: SYNTHETIC,
    build: processes.build,
    record: processes.record,
    now: () => new Date(Date.now() + Number(msLater)),
    onProgress(progress) {
      if (progress.phase !== phase) print(`phase ${progress.phase}`)
      phase = progress.phase
    },
  })
  await catalog.close()
  return info.row_count
}

const TEXT_COLUMNS = Object.keys(companySchema.omit({ registered_address: true }).shape) as Exclude<
  keyof Company,
  'registered_address'
>[]

type ImportIntoSqlite = (options: {
  path: string
  columns: readonly string[]
  batches: AsyncIterable<(string | null)[][]>
}) => Promise<number>

/** Reads and normalises with the product's own code. */
async function sqlite(path: string, directory: string): Promise<number> {
  await mkdir(directory, { recursive: true })
  // A dynamic import: the library is a peer, and its memory must not count for the other kinds.
  const peer = (await import(peerPath('sqlite-import'))) as { importIntoSqlite: ImportIntoSqlite }
  const columns = [...TEXT_COLUMNS, 'eircode', 'address_lines', 'name_key']
  return peer.importIntoSqlite({ path: join(directory, 'register.sqlite'), columns, batches: sqliteRows(path) })
}

async function* sqliteRows(path: string): AsyncGenerator<(string | null)[][]> {
  for await (const rows of readRows(await openCsv(path))) {
    yield rows.flatMap((parsed) => {
      const normalised = parsed.kind === 'row' ? normalise(parsed.row, () => undefined) : parsed
      return normalised.kind === 'company' ? [toValues(normalised.company)] : []
    })
  }
}

function toValues(company: Company): (string | null)[] {
  const { eircode, lines } = company.registered_address
  const nameKey = company.legal_name
    .normalize('NFKD')
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, ' ')
  return [...TEXT_COLUMNS.map((name) => company[name]), eircode, JSON.stringify(lines), nameKey]
}

const KINDS = { import: importAll, sqlite }

const [kind = 'import', path = '', directory = '', msLater = '0'] = process.argv.slice(2)
print('began')
const began = performance.now()
const rows = await KINDS[kind as keyof typeof KINDS](path, directory)
const seconds = (performance.now() - began) / 1000
const memory = Math.max(process.resourceUsage().maxRSS * 1024, processes.peakMemoryBytes())
print(`rows ${rows}\nseconds ${seconds}\ncpu ${cpuSeconds()}\nmemory ${memory / 1024 ** 2}`)

/** Of this process and the child processes that have ended. */
function cpuSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  // utime, stime, cutime and cstime of proc(5), which begin with the fourteenth field. The first two are cut off.
  return fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks), 0) / TICKS_PER_SECOND
}
