/** Retrieves the dataset at start and daily. After a failed retrieval the last good snapshot, or none, is served. */
import { fileURLToPath } from 'node:url'
import { ImportError } from '../../store/import/errors.ts'
import { importDataset, type ImportResult } from '../../store/import/run.ts'
import { startSchedule } from '../../store/import/schedule.ts'
import type { Report, Timer } from '../../store/base/runtime.ts'
import { CRO_COMPANIES, SYNTHETIC } from '../../store/dataset/source.ts'
import { withDeadline } from '../settlement/rpc/deadline.ts'
import { isUrl } from '../../store/base/url-policy.ts'
import { DAY_MS } from '../../store/base/day.ts'

/** The location under which the catalog records the made-up sample of the sandbox. */
const SAMPLE_LOCATION = 'sandbox:sample'
/** The files of the sample, one a day. The first import takes all of them, so that the sandbox has a history. */
const SAMPLE_DAYS = 5

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
    const file = import.meta.resolve(`#root/agent/sandbox/register/day-${SAMPLE_DAYS - daysAgo}.csv`)
    return importDataset({ ...inProcess, now, path: fileURLToPath(file), location, publication: SYNTHETIC })
  }
  if (!served) for (let daysAgo = SAMPLE_DAYS - 1; daysAgo > 0; daysAgo -= 1) await importSample(daysAgo)
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
  onRetrieved?: () => unknown
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
    if (result.historyFailure !== undefined) report('history_not_recorded', result.historyFailure)
    onRetrieved?.()
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
  else if (!hasDataset)
    await withDeadline({ timer, milliseconds: FIRST_RETRIEVAL_MS_MAX }, () => first).catch(() => undefined)
  return schedule
}
