/**
 * Builds a snapshot folder from rows in two passes over LMDB, so that memory does not grow with the register:
 *
 *   1. every row is normalised and stored under its company number; different records under one number quarantine it;
 *   2. the entries are read back in the order of their numbers, hashed to the snapshot id and indexed by name.
 */
import { mkdir, rename, rm, utimes } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { syncDirectory } from '../files/atomic-file.ts'
import { decodeOwnEntry, encodeEntry, QUARANTINED_BYTES } from '../dataset/company-entry.ts'
import { NORMALISATION_VERSION, type Company } from '../dataset/company.ts'
import { COMPANIES_DATABASE, companyKey, companyNumberOf, INFO_KEY, snapshotFolder } from '../files/layout.ts'
import { awaitWrite, openEnvironment, orStoreError, StoreError } from '../files/environment.ts'
import { NameIndexBuilder } from '../index/build.ts'
import { hasNameIndex } from '../index/name-index.ts'
import {
  openSnapshot,
  REOPEN_ENTRIES,
  snapshotInfoSchema,
  storedEntries,
  type SnapshotInfo,
} from '../dataset/snapshot.ts'
import { SnapshotHash } from '../dataset/snapshot-id.ts'
import { createReserveCheck, FREE_BYTES_MIN, type readFreeBytes } from '../files/disk-space.ts'
import { openCsv } from './archive.ts'
import { Comparison, type ComparedWith, type Finding } from './comparison.ts'
import { ImportError } from './errors.ts'
import { normalise } from './normalise.ts'
import { newBuildingFolder } from './old-folders.ts'
import { readRows, REJECTED_SHARE_MAX } from './rows.ts'

/** Rows per write transaction: the two fsyncs of a commit cost little per row, and a batch fits in memory. */
const BATCH_ROWS = 5_000
/** Lets a child process notice the end of its parent. */
const YIELD_ENTRIES = 1_000

interface BuildRequest {
  dataDirectory: string
  /** A file on disk (store/import/archive.ts). */
  path: string
  /** ISO 8601. */
  importedAt: string
  /** The least number of companies. */
  companiesMin?: number
  comparedWith?: ComparedWith | undefined
}

export type BuiltSnapshot = SnapshotInfo & { compared?: Finding[]; changes?: Comparison['changes'] | undefined }

export interface ImportProgress {
  phase: 'rows' | 'hash'
  rows: number
  /** The completed share of the phase, from 0 to 1: of the file's bytes in `rows`, of the entries in `hash`. */
  share: number
}

interface BuildOptions {
  onProgress?: ((progress: ImportProgress) => void) | undefined
  freeBytes?: typeof readFreeBytes
}

/** Builds a snapshot from a file and moves it to the folder of its id. A failed build leaves nothing. */
export async function buildFile(request: BuildRequest, options: BuildOptions = {}): Promise<BuiltSnapshot> {
  const { dataDirectory, importedAt } = request
  const folder = newBuildingFolder(dataDirectory)
  try {
    const counts = await loadRows(folder, request.path, options)
    if (counts.rejected > counts.rows * REJECTED_SHARE_MAX) {
      throw new ImportError('too_many_rejected', `${counts.rejected} of ${counts.rows} rows were rejected`)
    }
    checkCompanyCount(counts.companies, request)
    const comparison = request.comparedWith && new Comparison(request.comparedWith)
    const info = await finishSnapshot(folder, { counts, importedAt, comparison, ...options })
    const compared = comparison?.finish()
    checkChanges(compared, request.comparedWith)
    await moveIntoPlace(folder, snapshotFolder(dataDirectory, info.snapshot_id), new Date(importedAt))
    return { ...info, ...(compared && { compared, changes: comparison?.changes }) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** `count` is the number of companies that are not quarantined. */
function checkCompanyCount(count: number, { companiesMin = 0 }: BuildRequest): void {
  if (count === 0) throw new ImportError('no_companies', 'the file contains no company')
  if (count < companiesMin) {
    throw new ImportError('too_few_companies', `the file has ${count} companies; the minimum is ${companiesMin}`)
  }
}

function checkChanges(compared: Finding[] = [], { rules }: Pick<ComparedWith, 'rules'> = { rules: 'none' }): void {
  const applied = compared.filter(({ rule }) => rule !== 'none' && (rules === 'all' || rule === rules))
  const beyond = applied.filter(({ isBeyond }) => isBeyond).map(({ text }) => text)
  if (beyond.length > 0)
    throw new ImportError('changes_refused', `${beyond.join('; ')}; import --accept-changes publishes it`)
}

async function loadRows(folder: string, path: string, { onProgress, freeBytes }: BuildOptions) {
  let share = 0
  const csv = await openCsv(path, (read) => (share = read))
  let { environment, companies } = openBuildEnvironment(folder)
  const findings: Record<string, number> = {}
  /** `companies` are the numbers that are not quarantined. */
  const counts = { rows: 0, numbers: 0, companies: 0, rejected: 0, findings }
  const count = (finding: string) => (findings[finding] = (findings[finding] ?? 0) + 1)
  const batch: Company[] = []
  const checkReserve = createReserveCheck(folder, FREE_BYTES_MIN.import, freeBytes)

  function flush(): void {
    checkReserve()
    orStoreError('The store could not be written', () => environment.transactionSync(() => batch.forEach(put)))
    batch.length = 0
    onProgress?.({ phase: 'rows', rows: counts.rows, share })
  }

  function put(company: Company): void {
    const key = companyKey(company.company_number)
    const bytes = encodeEntry(company)
    const stored = companies.getBinary(key)
    if (stored === undefined) {
      companies.putSync(key, bytes)
      counts.numbers += 1
      counts.companies += 1
    } else if (stored.equals(bytes)) count('row_repeated')
    else {
      count('row_contradicting')
      if (stored.equals(QUARANTINED_BYTES)) return
      companies.putSync(key, QUARANTINED_BYTES)
      counts.companies -= 1
    }
  }

  try {
    for await (const rows of readRows(csv)) {
      for (const parsed of rows) {
        counts.rows += 1
        const result = parsed.kind === 'row' ? normalise(parsed.row, count) : parsed
        if (result.kind === 'company') batch.push(result.company)
        else {
          counts.rejected += 1
          count(`rejected_${result.reason}`)
        }
        if (batch.length === BATCH_ROWS) flush()
        if (counts.rows % REOPEN_ENTRIES === 0) {
          await environment.close()
          ;({ environment, companies } = openBuildEnvironment(folder))
        }
      }
    }
    flush()
    return counts
  } finally {
    await environment.close()
  }
}

function openBuildEnvironment(folder: string) {
  const environment = openEnvironment({ folder, kind: 'snapshot' })
  return {
    environment,
    companies: environment.openDB<Buffer, string>({ name: COMPANIES_DATABASE, encoding: 'binary' }),
  }
}

interface FinishOptions extends BuildOptions {
  counts: Awaited<ReturnType<typeof loadRows>>
  importedAt: string
  comparison: Comparison | undefined
}

async function finishSnapshot(
  folder: string,
  { counts, importedAt, comparison, onProgress }: FinishOptions,
): Promise<SnapshotInfo> {
  const hash = new SnapshotHash()
  const names = new NameIndexBuilder()
  const { rows, numbers, companies, rejected, findings } = counts
  let entries = 0
  for (const { key, value } of storedEntries(folder)) {
    const number = companyNumberOf(key)
    const entry = decodeOwnEntry(number, value)
    hash.add(number, entry)
    comparison?.add(key, value, entry)
    entries += 1
    if (entries % YIELD_ENTRIES === 0) await yieldToEventLoop()
    if (entry !== 'quarantined') names.add(entry)
    if (entries % BATCH_ROWS === 0) onProgress?.({ phase: 'hash', rows: entries, share: entries / numbers })
  }
  const info: SnapshotInfo = {
    snapshot_id: hash.id(),
    normalisation: NORMALISATION_VERSION,
    imported_at: importedAt,
    row_count: rows,
    company_count: companies,
    quarantined_company_count: numbers - companies,
    rejected_row_count: rejected,
    findings,
  }
  await names.write(folder)
  const { environment } = openBuildEnvironment(folder)
  try {
    await awaitWrite(environment.put(INFO_KEY, snapshotInfoSchema.parse(info)))
  } finally {
    await environment.close()
  }
  return info
}

/**
 * Renames the built folder to its final name. The same id means the same content, so an existing complete folder of an
 * earlier or a concurrent import is kept.
 */
async function moveIntoPlace(built: string, final: string, now: Date): Promise<void> {
  await mkdir(dirname(final), { recursive: true })
  try {
    await rename(built, final)
  } catch {
    if (!(await readSnapshotInfo(final))) {
      await rm(final, { recursive: true, force: true })
      await rename(built, final)
    }
  }
  // Protects the folder from the pruning of a concurrent import (store/import/old-folders.ts).
  await utimes(final, now, now)
  // The catalogue is about to refer to this name, so the name must survive a loss of power.
  await syncDirectory(dirname(final))
}

/** Undefined if the folder has no complete snapshot with a readable name index. */
export async function readSnapshotInfo(folder: string): Promise<SnapshotInfo | undefined> {
  try {
    const snapshot = openSnapshot(folder)
    await snapshot.close()
    return (await hasNameIndex(folder)) ? snapshot.info : undefined
  } catch (cause) {
    if (cause instanceof StoreError) return undefined
    throw cause
  }
}
