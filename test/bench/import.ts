/**
 * `npm run bench -- import [--rows N]`: what an import of a made-up register costs. Beside it, in the same run, a process
 * that only unzips the same file and finds its line ends, and ones that put the same records into SQLite (primary key on
 * the number, index on the name, one transaction, WAL with synchronous NORMAL), without and with an index that finds
 * misspelt names as ours does: the ratios hold on other machines, the seconds don't. Ours also checks for contradictions, seals every record and computes the snapshot id.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateCommand } from '../../agent/sandbox/generate-command.ts'
import { startChild } from '../support/child.ts'

const ROWS_DEFAULT = '1000000'
const SEED = '1'

export async function importBench({ rows = ROWS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-import-'))
  try {
    const path = join(directory, 'register.zip')
    const print = (line: string) => void process.stdout.write(`${line}\n`)
    const args = ['--rows', rows, '--seed', SEED, '--out', path]
    await generateCommand({ args, print, progress: () => undefined })
    print(`${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}`)
    const base = await measure('split', path, directory)
    const ours = await measure('import', path, join(directory, 'data'))
    const sqlite = await measure('sqlite', path, join(directory, 'sqlite'))
    const searchable = await measure('sqlite-search', path, join(directory, 'sqlite-search'))
    const all = { 'unzip and split': base, import: ours, SQLite: sqlite, 'SQLite, trigrams': searchable }
    for (const [name, each] of Object.entries(all)) {
      const perSecond = Math.round(Number(rows) / each.seconds)
      const row = `${each.seconds.toFixed(1)} s (${each.cpu.toFixed(1)} s of processor), ${perSecond} rows/s, ${Math.round(each.memory)} MiB peak memory`
      print(`${name.padEnd(16)} ${row}${each === base ? '' : `, ${Math.round(each.disk)} MiB on disk`}`)
    }
    print(`import to unzip and split ${(ours.seconds / base.seconds).toFixed(2)}`)
    for (const [name, each] of Object.entries({ SQLite: sqlite, 'SQLite, trigrams': searchable })) {
      const [time, processor] = [ours.seconds / each.seconds, ours.cpu / each.cpu]
      print(`import to ${name.padEnd(15)} ${time.toFixed(2)}, of processor time ${processor.toFixed(2)}`)
    }
    return ours.rows === Number(rows) && sqlite.rows === Number(rows)
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function measure(kind: 'split' | 'import' | 'sqlite' | 'sqlite-search', path: string, directory: string) {
  const child = startChild('test/support/import-child.js', [kind, path, directory], {})
  if ((await child.ended) !== 0) throw new Error(child.stderr())
  const figure = (name: string) => Number(child.said.get(name))
  return {
    rows: figure('rows'),
    seconds: figure('seconds'),
    cpu: figure('cpu'),
    memory: figure('memory'),
    disk: (await bytesIn(directory)) / 2 ** 20,
  }
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0
  for (const name of await readdir(folder, { recursive: true })) {
    const found = await stat(join(folder, name))
    if (found.isFile()) bytes += found.size
  }
  return bytes
}
