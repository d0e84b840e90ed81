/**
 * Builds a snapshot folder from rows, in two passes over LMDB and none over memory:
 *
 *   1. every row is normalised and put under its number; the same record again changes nothing, another one under the
 *      same number quarantines the number;
 *   2. the entries are read back in the order of their numbers and hashed to the snapshot id.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { companyOf, decodeValues, encodeEntry } from '../company.ts'
import { buildingFolder, COMPANIES_DATABASE, companyKey, companyNumberOf, INFO_KEY, snapshotFolder } from '../layout.ts'
import { durable, durableSync, openEnvironment } from '../open.ts'
import { NameIndexBuilder } from '../index/build.ts'
import { hasNameIndex } from '../index/name-index.ts'
import { openSnapshot, snapshotInfoSchema, type SnapshotInfo } from '../snapshot.ts'
import { NORMALISATION_VERSION, SnapshotHash } from '../snapshot-id.ts'
import { RESERVE_BYTES, reserveIn, type FreeBytes } from '../space.ts'
import { openCsv } from './archive.ts'
import { ImportError } from './errors.ts'
import { guardRows, type Expected } from './guard.ts'
import { normalise } from './normalise.ts'
import { readRows, type ReadRow } from './rows.ts'

/** Rows to a write transaction: large enough that a commit's two syncs don't count, small enough to hold. */
export const BATCH_ROWS = 5_000
/** Rows between two turns of the event loop, some 20 ms: a service that imports goes on answering. */
const TURN_ROWS = 1_000
/**
 * Entries between two openings of the environment: the pages it has touched count as memory until it is closed, and a
 * build would hold the whole snapshot by its end.
 */
const OPENING_ENTRIES = 40 * BATCH_ROWS
/** Above this share the file is not the register, whatever its header says (decisions 7). */
const REJECTED_SHARE_MAX = 0.01

/** A download is given up after a minute without a byte, and a build writes several times a minute. */
const UNTOUCHED_MS_MAX = 10 * 60 * 1000

const ANYTHING: Expected = { rowsMin: 0, rowsBefore: 0 }

export interface Progress {
  phase: 'rows' | 'hash'
  rows: number
  /** How much of the phase is done: of the file's bytes in the first, of the entries in the second. From 0 to 1. */
  share: number
}

/** Who builds here, so that the leavings of a killed import are told from a build that is going on. */
export interface Processes {
  own: number
  /** Random, for in a container every process has the same number, and a killed one comes back with it. */
  token: string
  isRunning: (process: number) => boolean
}

interface BuildRequest {
  dataDirectory: string
  processes: Processes
  rows: AsyncIterable<ReadRow[]>
  /** How much of the file has been read. */
  shareRead: () => number
  now: () => Date
  onProgress: (progress: Progress) => void
  freeBytes?: FreeBytes
}

interface Counts {
  rows: number
  rejected: number
  findings: Record<string, number>
}

interface FileRequest extends Omit<BuildRequest, 'rows' | 'shareRead'> {
  /** A `.csv` or `.zip` file on disk. */
  path: string
  /** What the file must hold to be believed; anything when absent. */
  expected?: Expected
  /** Gives the build up. */
  signal?: AbortSignal | undefined
}

/** Builds from a file: here, or in a thread (store/import/thread.ts). */
export type BuildFile = (file: FileRequest) => Promise<SnapshotInfo>

export const buildFile: BuildFile = async ({ path, expected = ANYTHING, signal, ...request }) => {
  let share = 0
  const csv = await openCsv(path, (read) => (share = read))
  return buildSnapshot({ ...request, rows: guardRows(readRows(csv), expected, signal), shareRead: () => share })
}

/** Builds and keeps a snapshot under its id. What is left of a build that failed is removed; nothing points to it. */
async function buildSnapshot(request: BuildRequest): Promise<SnapshotInfo> {
  const { dataDirectory, processes, rows, shareRead, now, onProgress, freeBytes } = request
  const folder = newBuildingFolder(dataDirectory, processes)
  try {
    const counts = await load({ folder, rows, shareRead, onProgress, freeBytes })
    if (counts.rejected > counts.rows * REJECTED_SHARE_MAX) {
      throw new ImportError('too_many_rejected', `${counts.rejected} of ${counts.rows} rows cannot be companies`)
    }
    const info = await seal({ folder, counts, importedAt: now(), onProgress })
    await keep(folder, snapshotFolder(dataDirectory, info.snapshot_id), now())
    return info
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A folder for what one import makes or fetches, that names its process. */
export function newBuildingFolder(dataDirectory: string, { own, token }: Processes): string {
  return join(buildingFolder(dataDirectory), `${own}-${token}-${randomUUID()}`)
}

/** Removes the builds of imports that were killed. */
export async function removeAbandonedBuilds(
  dataDirectory: string,
  { own, token, isRunning }: Processes,
  now: Date,
): Promise<void> {
  const root = buildingFolder(dataDirectory)
  for (const name of await readdir(root).catch(() => [])) {
    const owner = Number.parseInt(name, 10)
    const folder = join(root, name)
    // One of our number is dead, or lives in another container: then it is seen to write.
    const isAbandoned =
      owner === own ? !name.startsWith(`${own}-${token}-`) && (await isUntouched(folder, now)) : !isRunning(owner)
    if (isAbandoned) await rm(folder, { recursive: true, force: true })
  }
}

async function isUntouched(folder: string, now: Date): Promise<boolean> {
  const paths = [folder, ...(await readdir(folder)).map((name) => join(folder, name))]
  // What is gone by now was touched.
  const times = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        (found) => found.mtimeMs,
        () => Infinity,
      ),
    ),
  )
  return now.getTime() - Math.max(...times) > UNTOUCHED_MS_MAX
}

interface LoadRequest extends Pick<BuildRequest, 'rows' | 'shareRead' | 'onProgress'> {
  folder: string
  freeBytes: FreeBytes | undefined
}

async function load({ folder, rows, shareRead, onProgress, freeBytes }: LoadRequest): Promise<Counts> {
  let { environment, companies } = openBuild(folder)
  const counts: Counts = { rows: 0, rejected: 0, findings: {} }
  const count = (name: string) => (counts.findings[name] = (counts.findings[name] ?? 0) + 1)
  // In the form in which they are stored, in which they take the least while they wait.
  const batch: { key: string; bytes: Buffer }[] = []
  let highest = ''

  const checkReserve = reserveIn(folder, RESERVE_BYTES.import, freeBytes)

  function flush(): void {
    checkReserve()
    durableSync(() =>
      environment.transactionSync(() => {
        for (const each of batch) put(each)
      }),
    )
    batch.length = 0
    onProgress({ phase: 'rows', rows: counts.rows, share: shareRead() })
  }

  function put({ key, bytes }: { key: string; bytes: Buffer }): void {
    // In the register's own order nothing has to be looked for, and a page is filled before the next is begun.
    if (key > highest) {
      highest = key
      companies.putSync(key, bytes, { append: true })
      return
    }
    const held = companies.getBinary(key)
    if (held === undefined) companies.putSync(key, bytes)
    else if (held.equals(bytes)) count('row_repeated')
    else {
      count('row_contradicting')
      companies.putSync(key, encodeEntry('quarantined'))
    }
  }

  try {
    for await (const some of rows) {
      for (const read of some) {
        counts.rows += 1
        const row = read.kind === 'row' ? normalise(read.row, count) : read
        if (row.kind === 'company')
          batch.push({ key: companyKey(row.company.company_number), bytes: encodeEntry(row.company) })
        else {
          counts.rejected += 1
          count(`rejected_${row.reason}`)
        }
        if (batch.length === BATCH_ROWS) flush()
        if (counts.rows % OPENING_ENTRIES === 0) {
          await environment.close()
          ;({ environment, companies } = openBuild(folder))
        }
      }
    }
    flush()
    return counts
  } finally {
    await environment.close()
  }
}

function openBuild(folder: string) {
  const environment = openEnvironment({ folder, kind: 'snapshot' })
  return {
    environment,
    companies: environment.openDB<Buffer, string>({ name: COMPANIES_DATABASE, encoding: 'binary' }),
  }
}

const after = (key: string | undefined) => (key === undefined ? {} : { start: key, exclusiveStart: true })

interface SealRequest {
  folder: string
  counts: Counts
  importedAt: Date
  onProgress: BuildRequest['onProgress']
}

async function seal({ folder, counts, importedAt, onProgress }: SealRequest): Promise<SnapshotInfo> {
  const hash = new SnapshotHash()
  let entries = 0
  let quarantined = 0
  const names = new NameIndexBuilder()
  let last: string | undefined
  let { environment, companies } = openBuild(folder)
  try {
    const total = (companies.getStats() as { entryCount: number }).entryCount
    for (let read = -1; read !== entries;) {
      read = entries
      for (const { key, value } of companies.getRange({ ...after(last), limit: OPENING_ENTRIES })) {
        const number = companyNumberOf(key)
        const entry = decodeValues(value)
        hash.addStored(number, entry)
        last = key
        entries += 1
        if (entry === 'quarantined') quarantined += 1
        else names.add(companyOf(number, entry.values))
        if (entries % BATCH_ROWS === 0) onProgress({ phase: 'hash', rows: entries, share: entries / total })
        if (entries % TURN_ROWS === 0) await nextTurn()
      }
      await environment.close()
      ;({ environment, companies } = openBuild(folder))
    }
    if (entries === quarantined) throw new ImportError('no_companies', 'the file holds no company')
    const info: SnapshotInfo = {
      snapshot_id: hash.id(),
      normalisation: NORMALISATION_VERSION,
      imported_at: importedAt.toISOString(),
      row_count: counts.rows,
      company_count: entries - quarantined,
      quarantined_company_count: quarantined,
      rejected_row_count: counts.rejected,
      findings: counts.findings,
    }
    await names.write(folder)
    await durable(environment.put(INFO_KEY, snapshotInfoSchema.parse(info)))
    return info
  } finally {
    await environment.close()
  }
}

/**
 * Gives the folder its final name. The same id means the same content, so one that is there already stays, be it of an
 * earlier import or of one that goes on beside this.
 */
async function keep(built: string, final: string, now: Date): Promise<void> {
  await mkdir(dirname(final), { recursive: true })
  try {
    await rename(built, final)
  } catch {
    if (!(await isComplete(final))) {
      await rm(final, { recursive: true, force: true })
      await rename(built, final)
    }
  }
  // Whoever prunes meanwhile sees that it is needed (store/import/prune.ts).
  await utimes(final, now, now)
  // The catalogue is about to point here: the new name, too, must survive a loss of power.
  const parent = await open(dirname(final))
  try {
    await parent.sync()
  } finally {
    await parent.close()
  }
}

async function isComplete(folder: string): Promise<boolean> {
  try {
    if (!(await stat(folder)).isDirectory()) return false
    await openSnapshot(folder).close()
    return await hasNameIndex(folder)
  } catch {
    return false
  }
}
