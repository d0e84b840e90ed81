/**
 * Writes into a data directory until a write fails. Prints one line of JSON: the error, how many records can still be
 * read, and the unhandled rejections.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Catalog } from '../../store/dataset/catalog.ts'
import { importDataset } from '../../store/import/run.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { CRO_COMPANIES } from '../../store/dataset/source.ts'
import { makeRecord } from '../support/records.ts'
import { readArguments } from '../support/arguments.ts'

/** More writes than the tests' file size limit allows. */
const WRITES_MAX = 10_000
/** Long enough for `unhandledRejection` to be emitted. */
const SETTLE_MS = 50

export interface DiskReport {
  failure: string
  written: number
  readable: number
  unhandled: string[]
}

const unhandled: string[] = []
process.on('unhandledRejection', (cause) => unhandled.push(String(cause)))

const nameOf = (error: unknown) => (error instanceof Error ? error.name : 'no error')

async function fillResponses(directory: string): Promise<Omit<DiskReport, 'unhandled'>> {
  const log = new LmdbResponseLog(directory)
  const claim = (identity: string, characters: number) =>
    log.claim(makeRecord({ identity, body: 'x'.repeat(characters) })).then(() => 'written', nameOf)
  let failure = ''
  let written = 0
  for (; written < WRITES_MAX; written += 1) {
    failure = await claim(`i${written}`, 5_000)
    if (failure !== 'written') break
  }
  // Concurrent claims share a transaction and its failure.
  const together = await Promise.all([1, 2, 3].map((each) => claim(`t${each}`, 50_000)))
  if (together.some((each) => each !== failure)) failure = 'different errors'
  let readable = 0
  for (let index = 0; index < written; index += 1) if (await log.read(`i${index}`)) readable += 1
  if (await log.read(`i${written}`)) readable += 1
  await sleep(SETTLE_MS)
  await log.close()
  return { failure, written, readable }
}

async function importArchive(directory: string, path: string): Promise<Omit<DiskReport, 'unhandled'>> {
  const catalog = new Catalog(directory)
  const failure = await importDataset({
    dataDirectory: directory,
    catalog,
    path,
    publication: CRO_COMPANIES,
    now: () => new Date('2026-01-02T03:04:05.000Z'),
  }).then(() => 'none', nameOf)
  const readable = [...(catalog.current()?.snapshot.entries() ?? [])].length
  await sleep(SETTLE_MS)
  await catalog.close()
  return { failure, written: 0, readable }
}

const [directory = '', path] = readArguments('DIRECTORY [FILE]')
const report = path === undefined ? await fillResponses(directory) : await importArchive(directory, path)
process.stdout.write(JSON.stringify({ ...report, unhandled } satisfies DiskReport))
