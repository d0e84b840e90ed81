/** Retrieves the dataset at start and daily. After a failed retrieval the last good snapshot, or none, is served. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ImportError } from '../../store/import/errors.ts'
import { importDataset, type ImportResult } from '../../store/import/run.ts'
import { startSchedule } from '../../store/import/schedule.ts'
import type { Report, Timer } from '../../store/base/runtime.ts'
import { CRO_COMPANIES, SYNTHETIC } from '../../store/dataset/source.ts'
import { isUrl } from '../../store/base/url-policy.ts'
import { sampleRegister } from '../sandbox/sample-register.ts'

/** The location under which the catalog records the made-up sample of the sandbox. */
const SAMPLE_LOCATION = 'sandbox:sample'
const SAMPLE_ROWS = 1_000
const SAMPLE_SEED = 1
/** The first import of the sample is preceded by those of the days before, so that the sandbox has a history. */
const SAMPLE_EARLIER_DAYS = [4, 3, 2, 1]
const DAY_MS = 24 * 60 * 60 * 1000

/**
 * A start without a dataset waits this long for a remote source. A retrieval that takes longer continues afterwards.
 */
const FIRST_RETRIEVAL_MS_MAX = 30_000

interface DatasetRequest extends Omit<Parameters<typeof importDataset>[0], 'path' | 'location' | 'publication'> {
  /** A local archive or a URL. By default the last retrieved dataset, or the sample if there is none. */
  path: string | undefined
}

/** Retrieves the configured dataset, or the served one again. An unchanged dataset counts as newly retrieved. */
export async function retrieveDataset(request: DatasetRequest): Promise<ImportResult> {
  const served = request.catalog.retrieval()
  const location = locationOf(request)
  const { path: _path, ...options } = request
  if (location !== SAMPLE_LOCATION) {
    // A dataset that was imported as synthetic stays synthetic, because the file itself does not tell.
    const isSynthetic = served?.location === location && served.source.synthetic
    const publication = isSynthetic ? SYNTHETIC : CRO_COMPANIES
    return importDataset({ ...options, path: location, publication }).catch((cause: unknown) => {
      const isMissing = cause instanceof ImportError && cause.code === 'source_unreadable'
      throw isMissing && request.path ? new ImportError(cause.code, `DATASET: ${cause.message}`, cause.cause) : cause
    })
  }
  // The sample is small and harmless, so it needs no child processes, which take seconds for its five days.
  const { download: _download, build: _build, record: _record, ...inProcess } = options
  const importSample = async (daysAgo: number) => {
    const now = () => new Date(request.now().getTime() - daysAgo * DAY_MS)
    const path = await writeSample(request.dataDirectory, daysAgo)
    return importDataset({ ...inProcess, now, path, location, publication: SYNTHETIC })
  }
  if (!served) for (const daysAgo of SAMPLE_EARLIER_DAYS) await importSample(daysAgo)
  return importSample(0)
}

function locationOf({ path, catalog }: DatasetRequest): string {
  return path ?? catalog.retrieval()?.location ?? SAMPLE_LOCATION
}

interface DailyRetrievalOptions extends DatasetRequest {
  random: () => number
  timer: Timer
  report: Report
  /** Called after each success; the served snapshot may be new. */
  onRetrieved?: (result: ImportResult) => void
}

/**
 * Retrieves now and daily until stopped. If no snapshot can be served, waits for the first retrieval: it rejects if a
 * local file cannot be imported, and resolves without a dataset if a remote source fails or is slow.
 */
export async function startDailyRetrieval(options: DailyRetrievalOptions) {
  const { random, timer, report, onRetrieved, ...request } = options
  const onFailure = (cause: unknown) => {
    const isStopped = cause instanceof ImportError && cause.code === 'stopped'
    if (!isStopped) report('dataset_retrieval_failed', cause)
  }
  const retrieve = async (signal: AbortSignal) => {
    const result = await retrieveDataset({ ...request, signal })
    for (const { column, isBeyond } of result.compared) if (isBeyond && column) report('dataset_column_emptied', column)
    if (result.historyFailure !== undefined) report('history_not_recorded', result.historyFailure)
    onRetrieved?.(result)
  }
  const isLocal = !isUrl(locationOf(request))
  const schedule = startSchedule({ retrieve, now: request.now, random, timer, onFailure })
  // A snapshot that is missing, damaged or of another layout version is not served and is built again.
  const hasDataset = request.catalog.current() !== undefined
  const isRequired = isLocal && !hasDataset
  const first = schedule.first.catch(async (cause: unknown) => {
    if (!isRequired) return onFailure(cause)
    await schedule.stop()
    throw cause
  })
  if (isRequired) await first
  else if (!hasDataset) await settledWithin(first, FIRST_RETRIEVAL_MS_MAX, timer)
  return schedule
}

async function settledWithin(work: Promise<unknown>, milliseconds: number, timer: Timer): Promise<void> {
  let cancel = (): void => undefined
  await Promise.race([work, new Promise<void>((resolve) => (cancel = timer(resolve, milliseconds)))])
  cancel()
}

async function writeSample(dataDirectory: string, daysAgo: number): Promise<string> {
  const path = join(dataDirectory, 'sandbox', 'sample.csv')
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, [...sampleRegister({ rows: SAMPLE_ROWS, seed: SAMPLE_SEED, daysAgo })].join(''))
  return path
}
