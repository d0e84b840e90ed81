/**
 * `bench history [--rows N] [--days N]`: a journal of many days, in which 0.4 % of the companies change each day. Measures its
 * disk, scaled to the register, the CPU time that it adds to an import, and the time of an answer.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeEntry, encodeEntry } from '../../store/dataset/company-entry.ts'
import { openSnapshot } from '../../store/dataset/snapshot.ts'
import { SYNTHETIC } from '../../store/dataset/source.ts'
import { companyNumberOf, historyFolder, snapshotFolder } from '../../store/files/layout.ts'
import { HistoryDatabase } from '../../store/history/history-database.ts'
import { Journal } from '../../store/history/journal.ts'
import { recordFile } from '../../store/history/record.ts'
import { buildFile } from '../../store/import/build.ts'
import { diskMib } from './disk.ts'
import { generateArchive } from './generated-register.ts'
import { describeMachine } from './machine.ts'
import { markdown } from './markdown.ts'
import { quantile } from './statistics.ts'

const ROWS_DEFAULT = '100000'
const DAYS_DEFAULT = '1000'
const REGISTER_COMPANIES = 815_000
const REGISTER_DAYS = 1000
const CHANGED_SHARE = 0.004
const DAY_MS = 86_400_000
const FIRST_DAY = Date.UTC(2020, 0, 1)
const ANSWERS = 2_000
/** As many as an answer has. */
const CHANGES_MAX = 100
const CHANGES_PAGE = `a page of ${CHANGES_MAX} changes`

const DISK_MIB_MAX = 2048
const CPU_SHARE_MAX = 0.2
const ANSWER_MS_MAX = 2
/** The largest page decodes 200 records. */
const CHANGES_PAGE_MS_MAX = 20

interface Entry {
  key: string
  value: Buffer
}

export async function history({ rows = ROWS_DEFAULT, days = DAYS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'history-'))
  try {
    const { entries, cpuSeconds } = await importRegister(directory, Number(rows))
    const { firstMib, mib: lastMib, daily } = await grow(directory, entries, Number(days))
    const later = (lastMib - firstMib) * (REGISTER_DAYS / Number(days))
    const mib = (firstMib + later) * (REGISTER_COMPANIES / entries.length)
    const share = daily / cpuSeconds
    const p99 = await measureAnswers(directory, entries)
    const results = [
      { what: 'disk of 1,000 days at 815,000 companies, MiB', value: mib, max: DISK_MIB_MAX },
      { what: 'CPU time of a day, as a share of that of an import', value: share, max: CPU_SHARE_MAX },
      ...Object.entries(p99).map(([name, value]) => ({
        what: `p99 of ${name}, ms`,
        value,
        max: name === CHANGES_PAGE ? CHANGES_PAGE_MS_MAX : ANSWER_MS_MAX,
      })),
    ]
    const cells = results.map(({ what, value, max }) => [what, value.toFixed(3), String(max)])
    process.stdout.write(`${describeMachine()}; ${entries.length} companies, ${days} days\n\n`)
    process.stdout.write(`${markdown(['what', 'measured', 'at most'], cells)}\n`)
    return results.every(({ value, max }) => value <= max)
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** Imports a register without a journal. */
async function importRegister(directory: string, rows: number): Promise<{ entries: Entry[]; cpuSeconds: number }> {
  const path = join(directory, 'register.zip')
  await generateArchive({ rows, seed: 1, path })
  const cpu = startCpuClock()
  const info = await buildFile({ dataDirectory: directory, path, importedAt: new Date().toISOString() })
  const cpuSeconds = cpu()
  const snapshot = openSnapshot(snapshotFolder(directory, info.snapshot_id))
  const entries = [...snapshot.storedEntries()]
  await snapshot.close()
  return { entries, cpuSeconds }
}

/** `daily`: the mean CPU seconds of a day after the first. */
async function grow(directory: string, entries: Entry[], days: number) {
  await mkdir(historyFolder(directory), { recursive: true })
  const database = new HistoryDatabase(directory, { readOnly: false })
  const folder = historyFolder(directory)
  let total = 0
  let firstMib = 0
  for (let day = 0; day < days; day += 1) {
    if (day > 0) change(entries, day)
    const time = new Date(FIRST_DAY + day * DAY_MS).toISOString()
    const source = { ...SYNTHETIC, retrieved_at: time, source_updated_at: time }
    const cpu = startCpuClock()
    recordFile(database, { snapshot_id: `day ${day}`, location: 'bench', archive_sha256: '', source }, entries)
    if (day > 0) total += cpu()
    else firstMib = await diskMib(folder)
  }
  await database.close()
  return { firstMib, mib: await diskMib(folder), daily: total / (days - 1) }
}

/** Changes entries that are spread over the register, others each day. */
function change(entries: Entry[], day: number): void {
  for (let count = 0; count < entries.length * CHANGED_SHARE; count += 1) {
    const entry = entries[Math.floor(Math.random() * entries.length)] as Entry
    const company = decodeEntry(companyNumberOf(entry.key), entry.value)
    if (company === 'quarantined') continue
    const status_date = new Date(FIRST_DAY + day * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length)
    entry.value = encodeEntry({ ...company, status_date })
  }
}

async function measureAnswers(directory: string, entries: Entry[]): Promise<Record<string, number>> {
  const journal = new Journal(directory)
  const [oldest, newest] = [journal.oldest(), journal.newest()]
  if (!oldest || !newest) throw new Error('the journal is empty')
  const number = () => companyNumberOf((entries[Math.floor(Math.random() * entries.length)] as Entry).key)
  const changes = () => journal.changes({ since: oldest.date, until: newest.date })[Symbol.iterator]()
  const p99 = {
    versions: measure(() => [...journal.versions(number())]),
    versionAt: measure(() => journal.versionAt(number(), oldest)),
    [CHANGES_PAGE]: measure(() => {
      const iterator = changes()
      for (let count = 0; count < CHANGES_MAX && !iterator.next().done; count += 1);
      iterator.return?.()
    }),
  }
  await journal.close()
  return p99
}

/** The 99th percentile in milliseconds, after a tenth of the calls to warm up. */
function measure(call: () => unknown): number {
  const times = Array.from({ length: ANSWERS }, () => {
    const began = performance.now()
    call()
    return performance.now() - began
  })
  return quantile(times.slice(ANSWERS / 10), 0.99)
}

/** Returns the CPU seconds since the start. */
function startCpuClock(): () => number {
  const start = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1e6
  }
}
