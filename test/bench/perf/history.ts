/**
 * A journal in which 0.4 % of the companies change each day: its disk after a thousand days of the whole register, the
 * CPU time of a day beside an import, and the time of an answer.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY_MS, toDay } from '../../../base/day.ts'
import { NUMBERS_MAX } from '../../../agent/operation/fields.ts'
import { decodeEntry, encodeEntry } from '../../../store/dataset/company-entry.ts'
import { storedEntries } from '../../../store/dataset/snapshot.ts'
import { SYNTHETIC } from '../../../store/dataset/source.ts'
import { companyNumberOf, historyFolder, snapshotFolder } from '../../../store/files/layout.ts'
import { HistoryDatabase } from '../../../store/history/history-database.ts'
import { Journal } from '../../../store/history/journal.ts'
import { addFile } from '../../../store/history/write-journal.ts'
import { diskMib } from '../disk.ts'
import { openNames } from '../generated-register.ts'
import { quantile } from '../statistics.ts'
import { withBaseline, type MeasureRows, type PerfRow } from './perf-row.ts'

const ROWS_MAX = 10_000
const REGISTER_COMPANIES = 815_000
const DAYS = 1_000
const CHANGED_SHARE = 0.004
const FIRST_DAY = Date.UTC(2020, 0, 1)
const ANSWERS = 2_000
/** As many as an answer has. */
const CHANGES_MAX = 100
const WATCHED_DAYS = 30

interface Entry {
  key: string
  value: Buffer
}

export const measureHistory: MeasureRows = async ({ size, directory, register }) => {
  const { dataDirectory, cost } = await register(Math.min(size.registerRows, ROWS_MAX))
  await using names = openNames(dataDirectory)
  const entries = [...storedEntries(snapshotFolder(dataDirectory, names.context.dataset.snapshot_id))]
  const data = join(directory, 'history')
  const days = Math.max(2, DAYS * size.requestShare)
  const { firstMib, lastMib, dailySeconds } = await grow(data, entries, days)
  const mib = (firstMib + (lastMib - firstMib) * (DAYS / days)) * (REGISTER_COMPANIES / entries.length)
  return [
    { id: 'history disk', value: mib },
    withBaseline('history cpu', dailySeconds, { name: 'import', value: cost.cpuSeconds }),
    ...(await measureAnswers(data, entries)),
  ]
}

/** `dailySeconds`: the mean CPU time of a day after the first. */
async function grow(data: string, entries: Entry[], days: number) {
  const folder = historyFolder(data)
  await mkdir(folder, { recursive: true })
  const database = new HistoryDatabase(data, { readOnly: false })
  let [total, firstMib] = [0, 0]
  for (let day = 0; day < days; day += 1) {
    const time = new Date(FIRST_DAY + day * DAY_MS).toISOString()
    if (day > 0) change(entries, time)
    const source = { ...SYNTHETIC, retrieved_at: time, source_updated_at: time }
    const began = process.cpuUsage()
    addFile(database, { snapshot_id: `day ${day}`, location: 'bench', archive_sha256: '', source }, entries)
    const { user, system } = process.cpuUsage(began)
    if (day > 0) total += (user + system) / 1e6
    else firstMib = await diskMib(folder)
  }
  await database.close()
  return { firstMib, lastMib: await diskMib(folder), dailySeconds: total / (days - 1) }
}

/** Changes a random share of the entries. */
function change(entries: Entry[], time: string): void {
  for (let count = 0; count < entries.length * CHANGED_SHARE; count += 1) {
    const entry = anyOf(entries)
    const company = decodeEntry(companyNumberOf(entry.key), entry.value)
    if (company !== 'quarantined')
      entry.value = encodeEntry({ ...company, status_date: time.slice(0, 'YYYY-MM-DD'.length) })
  }
}

async function measureAnswers(data: string, entries: Entry[]): Promise<PerfRow[]> {
  const journal = new Journal(data)
  const [oldestDay, newest] = [journal.completeSince(), journal.newest()]
  const oldest = oldestDay === undefined ? undefined : journal.stepOn(oldestDay)
  if (!oldest || !newest) throw new Error('the journal is empty')
  const number = () => companyNumberOf(anyOf(entries).key)
  const readPage = () => {
    const changes = journal.changes({ since: oldest.date, until: newest.date })[Symbol.iterator]()
    for (let count = 0; count < CHANGES_MAX && !changes.next().done; count += 1);
    changes.return?.()
  }
  const since = toDay(Date.parse(newest.date) - WATCHED_DAYS * DAY_MS)
  const readWatched = () => {
    const companyNumbers = Array.from({ length: NUMBERS_MAX }, number)
    return [...journal.changes({ since, until: newest.date, companyNumbers })]
  }
  const rows: PerfRow[] = [
    { id: 'history versions', value: p99Ms(() => [...journal.versions(number())]) },
    { id: 'history day', value: p99Ms(() => journal.versionAt(number(), oldest)) },
    { id: 'history page', value: p99Ms(readPage) },
    { id: 'history watched', value: p99Ms(readWatched) },
  ]
  await journal.close()
  return rows
}

/** Leaves out the first tenth of the calls, which warm up the code. */
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
