/** The peak memory of `client reconcile` for a list of names, most of which are misspelt or changed otherwise. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { generatePrivateKey } from 'viem/accounts'
import { startChild } from '../../support/child.ts'
import { residentMemory } from '../load/server-process.ts'
import { SERVICE, type HttpBench } from './http-rounds.ts'
import type { PerfContext, PerfRow } from './perf-row.ts'

const ROWS = 10_000
const MEMORY_READ_MS = 50
const DECISIONS: ReadonlySet<string> = new Set(['matched', 'ambiguous', 'conflicting', 'no_match'])

export async function measureList(bench: HttpBench, { size, directory }: PerfContext): Promise<PerfRow[]> {
  const { searchTexts } = bench.corpus
  const names = Array.from(
    { length: ROWS * size.requestShare },
    (_, at) => `${searchTexts[at % searchTexts.length]} ${at}`,
  )
  const [file, keyFile] = [join(directory, 'list.csv'), join(directory, 'buyer.key')]
  await writeFile(keyFile, generatePrivateKey(), { mode: 0o600 })
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"\n`
  await writeFile(file, ['name', ...names].map(quote).join(''))
  const buyer = ['--url', bench.servers.get(SERVICE)?.url ?? '', '--key-file', keyFile]
  const args = ['client', ...buyer, 'reconcile', file, '--column', 'name', '--yes']
  const child = startChild('agent/main.js', args, { DATA_DIR: directory })
  let value = Number.NaN
  const reading = setInterval(() => {
    const peak = residentMemory(child.process.pid, 'VmHWM')
    if (!Number.isNaN(peak)) value = peak
  }, MEMORY_READ_MS)
  const code = await child.ended
  clearInterval(reading)
  const out = await readFile(join(directory, 'list.reconciled.csv'), 'utf8').catch(() => '')
  const rows = parse(out, { columns: true }) as Record<string, string>[]
  if (rows.filter(({ decision = '' }) => DECISIONS.has(decision)).length !== names.length)
    throw new Error(`The command ended with ${code}, and a row has no decision: ${child.stderr()}`)
  return [{ id: 'list memory', value }]
}
