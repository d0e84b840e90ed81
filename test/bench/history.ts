/**
 * `bench history [--rows N] [--days N]`: a journal of many days, in which 0.4 % of the companies change each day.
 * Measures its disk, scaled to the register, the CPU time that it adds to an import, and the time of an answer.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { generateRegister } from '../support/sample/generate.ts'
import { decodeEntry, encodeEntry } from '../../store/dataset/company-entry.ts'
import { storedEntries } from '../../store/dataset/snapshot.ts'
import { SYNTHETIC } from '../../store/dataset/source.ts'
import { companyNumberOf, historyFolder, snapshotFolder } from '../../store/files/layout.ts'
import { HistoryDatabase } from '../../store/history/history-database.ts'
import { Journal } from '../../store/history/journal.ts'
import { recordFile } from '../../store/history/record.ts'
import { buildFile } from '../../store/import/build.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { NUMBERS_MAX } from '../../agent/operation/fields.ts'
import { diskMib } from './disk.ts'
import { describeMachine } from './machine.ts'
import { markdown } from './markdown.ts'
import { print } from './print.ts'
import { quantile } from './statistics.ts'

const REGISTER_COMPANIES = 815_000
const REGISTER_DAYS = 1000
const CHANGED_SHARE = 0.004
const DAY_MS = 86_400_000
const FIRST_DAY = Date.UTC(2020, 0, 1)
const ANSWERS = 2_000
/** As many as an answer has. */
const CHANGES_MAX = 100

const DISK_MIB_MAX = 2048
const CPU_SHARE_MAX = 0.2
const ANSWER_MS_MAX = 2
/** The largest page decodes 200 records. */
const CHANGES_PAGE_MS_MAX = 20
/** The changes of a month of as many companies as a request names. */
const WATCHED_MS_MAX = 5
const WATCHED_DAYS = 30

interface Entry {
  key: string
  value: Buffer
}

type Result = readonly [what: string, measured: number, atMost: number]

export async function history({ rows = '100000', days = '1000' }: Record<string, string>): Promise<boolean> {
  const directory = await makeTemporaryDirectory()
  const { entries, cpuSeconds } = await importRegister(directory, Number(rows))
  const { firstMib, lastMib, dailySeconds } = await grow(directory, entries, Number(days))
  const later = (lastMib - firstMib) * (REGISTER_DAYS / Number(days))
  const mib = (firstMib + later) * (REGISTER_COMPANIES / entries.length)
  const results: Result[] = [
    ['disk of 1,000 days at 815,000 companies, MiB', mib, DISK_MIB_MAX],
    ['CPU time of a day, as a share of that of an import', dailySeconds / cpuSeconds, CPU_SHARE_MAX],
    ...(await measureAnswers(directory, entries)),
  ]
  const cells = results.map(([what, measured, atMost]) => [what, measured.toFixed(3), String(atMost)])
  print(`${describeMachine()}; ${entries.length} companies, ${days} days\n`)
  print(markdown(['what', 'measured', 'at most'], cells))
  return results.every(([, measured, atMost]) => measured <= atMost)
}

/** Imports a register without a journal. */
async function importRegister(directory: string, rows: number): Promise<{ entries: Entry[]; cpuSeconds: number }> {
  const path = join(directory, 'register.zip')
  await generateRegister({ rows, seed: 1, out: path })
  const began = process.cpuUsage()
  const info = await buildFile({ dataDirectory: directory, path, importedAt: new Date().toISOString() })
  const cpuSeconds = cpuSecondsSince(began)
  const entries = [...storedEntries(snapshotFolder(directory, info.snapshot_id))]
  return { entries, cpuSeconds }
}

/** `dailySeconds`: the mean CPU time of a day after the first. */
async function grow(directory: string, entries: Entry[], days: number) {
  const folder = historyFolder(directory)
  await mkdir(folder, { recursive: true })
  const database = new HistoryDatabase(directory, { readOnly: false })
  let [total, firstMib] = [0, 0]
  for (let day = 0; day < days; day += 1) {
    const time = new Date(FIRST_DAY + day * DAY_MS).toISOString()
    if (day > 0) change(entries, time)
    const source = { ...SYNTHETIC, retrieved_at: time, source_updated_at: time }
    const began = process.cpuUsage()
    recordFile(database, { snapshot_id: `day ${day}`, location: 'bench', archive_sha256: '', source }, entries)
    if (day > 0) total += cpuSecondsSince(began)
    else firstMib = await diskMib(folder)
  }
  await database.close()
  return { firstMib, lastMib: await diskMib(folder), dailySeconds: total / (days - 1) }
}

/** Changes entries that are spread over the register, others each day. */
function change(entries: Entry[], time: string): void {
  for (let count = 0; count < entries.length * CHANGED_SHARE; count += 1) {
    const entry = anyOf(entries)
    const company = decodeEntry(companyNumberOf(entry.key), entry.value)
    if (company !== 'quarantined')
      entry.value = encodeEntry({ ...company, status_date: time.slice(0, 'YYYY-MM-DD'.length) })
  }
}

async function measureAnswers(directory: string, entries: Entry[]): Promise<Result[]> {
  const journal = new Journal(directory)
  const [oldest, newest] = [journal.oldest(), journal.newest()]
  if (!oldest || !newest) throw new Error('the journal is empty')
  const number = () => companyNumberOf(anyOf(entries).key)
  const readPage = () => {
    const changes = journal.changes({ since: oldest.date, until: newest.date })[Symbol.iterator]()
    for (let count = 0; count < CHANGES_MAX && !changes.next().done; count += 1);
    changes.return?.()
  }
  const since = new Date(Date.parse(newest.date) - WATCHED_DAYS * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length)
  const readWatched = () => {
    const companyNumbers = Array.from({ length: NUMBERS_MAX }, number)
    return [...journal.changes({ since, until: newest.date, companyNumbers })]
  }
  const results: Result[] = [
    ['p99 of versions, ms', p99Ms(() => [...journal.versions(number())]), ANSWER_MS_MAX],
    ['p99 of versionAt, ms', p99Ms(() => journal.versionAt(number(), oldest)), ANSWER_MS_MAX],
    [`p99 of a page of ${CHANGES_MAX} changes, ms`, p99Ms(readPage), CHANGES_PAGE_MS_MAX],
    [`p99 of the changes of ${NUMBERS_MAX} companies in ${WATCHED_DAYS} days, ms`, p99Ms(readWatched), WATCHED_MS_MAX],
  ]
  await journal.close()
  return results
}

/** After a tenth of the calls to warm up. */
function p99Ms(call: () => unknown): number {
  const times = Array.from({ length: ANSWERS }, () => {
    const began = performance.now()
    call()
    return performance.now() - began
  })
  return quantile(times.slice(ANSWERS / 10), 0.99)
}

function anyOf(entries: readonly Entry[]): Entry {
  return entries[Math.floor(Math.random() * entries.length)] as Entry
}

function cpuSecondsSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1e6
}
