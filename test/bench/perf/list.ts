/** The peak memory of `client reconcile` for a sheet of names, most of which are misspelt or changed otherwise. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey } from 'viem/accounts'
import { toText } from '../../../buyer/table/cell.ts'
import { readTable, writeTable } from '../../../buyer/table/table-file.ts'
import { startChild } from '../../support/child.ts'
import { residentMemory } from '../load/server-process.ts'
import { SERVICE, type HttpBench } from './http-rounds.ts'
import type { PerfContext, PerfRow } from './perf-row.ts'

const ROWS = 10_000
const COLUMNS = 33
const MEMORY_READ_MS = 50
const DECISIONS: ReadonlySet<string> = new Set(['matched', 'ambiguous', 'conflicting', 'no_match'])

export async function measureList(bench: HttpBench, { size, directory }: PerfContext): Promise<PerfRow[]> {
  const { searchTexts } = bench.corpus
  const names = Array.from(
    { length: ROWS * size.requestShare },
    (_, at) => `${searchTexts[at % searchTexts.length]} ${at}`,
  )
  const [file, keyFile] = [join(directory, 'list.xlsx'), join(directory, 'buyer.key')]
  await writeFile(keyFile, generatePrivateKey(), { mode: 0o600 })
  const rows = ['name', ...names].map((name) =>
    Array.from({ length: COLUMNS }, (_, at) => (at === 0 ? name : `${name} ${at}`)),
  )
  const format = { kind: 'xlsx', separator: ',', lineEnd: '\n', hasByteOrderMark: false } as const
  await writeTable(file, rows, { format })
  const buyer = ['--url', bench.servers.get(SERVICE)?.url ?? '', '--key-file', keyFile]
  const args = ['client', ...buyer, 'reconcile', file, '--column', 'name', '--yes']
  const child = startChild('operator/main.js', args, { DATA_DIR: directory })
  let value = Number.NaN
  const reading = setInterval(() => {
    const peak = residentMemory(child.process.pid, 'VmHWM')
    if (!Number.isNaN(peak)) value = peak
  }, MEMORY_READ_MS)
  const code = await child.ended
  clearInterval(reading)
  const [header = [], ...written] = (await readTable(join(directory, 'list.reconciled.xlsx'))).rows
  const decision = header.indexOf('decision')
  if (written.filter((row) => DECISIONS.has(toText(row[decision]))).length !== names.length)
    throw new Error(`The command ended with ${code}, and a row has no decision: ${child.stderr()}`)
  return [{ id: 'list memory', value }]
}
