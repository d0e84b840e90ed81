/** Retrieves the dataset at start and daily. After a failed retrieval the last good snapshot, or none, is served. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Catalog } from '../../store/dataset/catalog.ts'
import { ImportError, notRecorded } from '../../store/import/errors.ts'
import { importDataset } from '../../store/import/run.ts'
import { startSchedule } from '../../store/import/schedule.ts'
import { withDeadline } from '../../base/deadline.ts'
import type { Report, Timer } from '../../base/runtime.ts'
import { SYNTHETIC } from '../../store/dataset/source.ts'
import { isUrl } from '../../base/url-policy.ts'
import { DAY_MS } from '../../base/day.ts'

/** The location under which the catalog records the made-up sample of the sandbox. */
const SAMPLE_LOCATION = 'sandbox:sample'
/** The files of the sample, one a day. The first import takes all of them, so that the sandbox has a history. */
const SAMPLE_DAYS = 5

/**
 * A start without a dataset waits this long for a remote source. A retrieval that takes longer continues afterwards.
 */
const FIRST_RETRIEVAL_MS_MAX = 30_000

/**
 * Runs the command `import` with these arguments, in a process of its own. The signal ends it.
 * @throws ImportError
 */
export type RunImport = (args: readonly string[], signal: AbortSignal) => Promise<void>

interface DatasetRequest {
  dataDirectory: string
  catalog: Catalog
  /** A local archive or a URL. By default the last retrieved dataset, or the sample if there is none. */
  path: string | undefined
  runImport: RunImport
  now: () => Date
}

/** Retrieves the configured dataset, or the served one again. An unchanged dataset counts as newly retrieved. */
export async function retrieveDataset(request: DatasetRequest, signal: AbortSignal): Promise<void> {
  const { catalog, path, runImport } = request
  const served = catalog.retrieval()
  const location = locationOf(request)
  // A dataset that was imported as synthetic stays synthetic, because the file itself does not tell.
  const isSynthetic = served?.location === location && served.source.synthetic
  try {
    if (location === SAMPLE_LOCATION) await retrieveSample(request, signal)
    else await runImport([...(isSynthetic ? ['--synthetic'] : []), '--', location], signal)
  } catch (cause) {
    const isMissing = cause instanceof ImportError && cause.code === 'source_unreadable'
    throw isMissing && path !== undefined ? new ImportError(cause.code, `DATASET: ${cause.message}`, cause) : cause
  } finally {
    catalog.expire()
  }
}

const sampleOfDay = (day: number) => fileURLToPath(import.meta.resolve(`#root/agent/sandbox/register/day-${day}.csv`))

/** The first files are imported here, before the service opens the journal, because their days are in the past. */
async function retrieveSample(request: DatasetRequest, signal: AbortSignal): Promise<void> {
  const { dataDirectory, catalog, runImport, now } = request
  if (catalog.retrieval())
    return runImport(['--synthetic', '--location', SAMPLE_LOCATION, '--', sampleOfDay(SAMPLE_DAYS)], signal)
  for (let day = 1; day <= SAMPLE_DAYS; day += 1) {
    const { historyFailure } = await importDataset({
      dataDirectory,
      catalog,
      path: sampleOfDay(day),
      location: SAMPLE_LOCATION,
      publication: SYNTHETIC,
      now: () => new Date(now().getTime() - (SAMPLE_DAYS - day) * DAY_MS),
    })
    if (historyFailure !== undefined) throw notRecorded(historyFailure)
  }
}

/** As the command `import` names it: a path is absolute. */
function locationOf({ path, catalog }: Pick<DatasetRequest, 'path' | 'catalog'>): string {
  if (path !== undefined) return isUrl(path) ? path : resolve(path)
  return catalog.retrieval()?.location ?? SAMPLE_LOCATION
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
  let stopSignal: AbortSignal | undefined
  const onFailure = (cause: unknown) => {
    if (stopSignal?.aborted !== true) report('dataset_retrieval_failed', cause)
  }
  const retrieve = async (signal: AbortSignal) => {
    stopSignal = signal
    await retrieveDataset(request, signal).catch((cause: unknown) => {
      if (!(cause instanceof ImportError) || cause.code !== 'history_not_recorded') throw cause
      report('history_not_recorded', cause)
    })
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
