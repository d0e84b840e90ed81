/**
 * `bench reconcile [--rows N]`: runs `client reconcile` as a process, with a list of names of which most are changed.
 * The service, the facilitator and the node are processes of their own. Measures its speed, and fails if its memory is
 * above the limit, or if a row has no decision.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import { generatePrivateKey } from 'viem/accounts'
import { startChild } from '../support/child.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { makeRegister, readCorpus } from './generated-register.ts'
import { residentMemory, startRemotes, startService } from './load/server-process.ts'
import { describeMachine } from './machine.ts'
import { serviceEnvironment } from './perf/http-rounds.ts'
import { print } from './print.ts'

const ROWS_DEFAULT = '10000'
const COMPANIES = 3_000
const MEMORY_MB_MAX = 200
const BYTES_PER_MIB = 1024 * 1024
const MEMORY_READ_MS = 50

export async function reconcile({ rows = ROWS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const directory = await makeTemporaryDirectory()
  const { archive, dataDirectory } = await makeRegister(directory, COMPANIES)
  await using remotes = await startRemotes()
  const environment = serviceEnvironment(dataDirectory, { dataset: archive, remotes: remotes.url })
  await using service = await startService('service', environment)
  const { searchTexts } = await readCorpus(dataDirectory)
  const names = Array.from({ length: Number(rows) }, (_, at) => `${searchTexts[at % searchTexts.length]} ${at}`)
  const { decided, seconds, memoryMb } = await runList(directory, service.url, names)
  print(`${describeMachine()}; ${COMPANIES} companies`)
  print(
    `${rows} rows, ${decided} decided, ${(decided / seconds).toFixed(1)} rows a second, ` +
      `${memoryMb.toFixed(0)} MB of memory (limit ${MEMORY_MB_MAX})`,
  )
  return memoryMb <= MEMORY_MB_MAX && decided === names.length
}

/** `memoryMb`: the peak resident memory of the command. */
async function runList(directory: string, url: string, names: readonly string[]) {
  const file = join(directory, 'list.csv')
  const keyFile = join(directory, 'buyer.key')
  await writeFile(keyFile, generatePrivateKey(), { mode: 0o600 })
  await writeFile(file, stringify([['name'], ...names.map((name) => [name])]))
  const began = performance.now()
  const args = ['client', '--url', url, '--key-file', keyFile, 'reconcile', file, '--column', 'name', '--yes']
  const child = startChild('agent/main.js', args, { DATA_DIR: directory })
  let memory = Number.NaN
  const reading = setInterval(() => {
    const peak = residentMemory(child.process.pid, 'VmHWM')
    if (!Number.isNaN(peak)) memory = peak
  }, MEMORY_READ_MS)
  const code = await child.ended
  clearInterval(reading)
  const seconds = (performance.now() - began) / 1000
  if (code !== 0) throw new Error(`The command ended with ${code}: ${child.stderr()}`)
  const out = parse(await readFile(join(directory, 'list.reconciled.csv')), { columns: true }) as Record<
    string,
    string
  >[]
  const decided = out.filter(({ decision = '' }) => DECISIONS.has(decision)).length
  return { decided, seconds, memoryMb: (memory * BYTES_PER_MIB) / 1e6 }
}

const DECISIONS: ReadonlySet<string> = new Set(['matched', 'ambiguous', 'conflicting', 'no_match'])
