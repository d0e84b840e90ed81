/** Keeps the dataset at hand: retrieves it at start and daily. What fails leaves the last good snapshot, which ages. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Catalog } from '../store/catalog.ts'
import type { BuildFile, Processes } from '../store/import/build.ts'
import { ImportError } from '../store/import/errors.ts'
import { importDataset, type ImportResult } from '../store/import/run.ts'
import { openSchedule, type Schedule, type Timer } from '../store/import/schedule.ts'
import { StoreError } from '../store/open.ts'
import { CRO_COMPANIES, SYNTHETIC } from '../store/source.ts'
import { sampleRegister } from './sandbox/sample.ts'

/** What the catalogue remembers the sandbox's made-up sample by. */
const SAMPLE_LOCATION = 'sandbox:sample'
const SAMPLE_ROWS = 1_000
const SAMPLE_SEED = 1

export interface DatasetRequest {
  dataDirectory: string
  catalog: Catalog
  /** A local archive or a URL; without one, whatever was retrieved last, and at first the made-up sample. */
  path: string | undefined
  processes: Processes
  /** Builds a snapshot; off the event loop where requests are answered. */
  build?: BuildFile
  now: () => Date
  signal?: AbortSignal
}

/** Retrieves the dataset that is configured, or the one that is being served. Unchanged, it is fresh again. */
export async function retrieveDataset(request: DatasetRequest): Promise<ImportResult> {
  const served = request.catalog.retrieval()
  const location = request.path ?? served?.location ?? SAMPLE_LOCATION
  const { path: _, ...surroundings } = request
  if (location !== SAMPLE_LOCATION) {
    // What was imported as made up stays so; nothing in a file tells it from the register.
    const isMadeUp = served?.location === location && served.source.synthetic
    const publication = isMadeUp ? SYNTHETIC : CRO_COMPANIES
    return importDataset({ ...surroundings, path: location, publication })
  }
  const path = await writeSample(request.dataDirectory)
  return importDataset({ ...surroundings, path, location, publication: SYNTHETIC })
}

export interface Keeping extends DatasetRequest {
  random: () => number
  timer: Timer
  report: (event: string, cause: unknown) => void
  /** Told of each success: what is served may be new. */
  onRetrieved?: () => void
}

/** Retrieves now and daily until stopped. With nothing to serve the first is waited for, and its failure is ours. */
export async function keepDataset({ random, timer, report, onRetrieved, ...request }: Keeping): Promise<Schedule> {
  const onFailure = (cause: unknown) => {
    const isStopped = cause instanceof ImportError && cause.fault === 'stopped'
    if (!isStopped) report('dataset_retrieval_failed', cause)
  }
  const retrieve = (signal: AbortSignal) => retrieveDataset({ ...request, signal }).then(onRetrieved)
  const schedule = openSchedule({ retrieve, now: request.now, random, timer, onFailure })
  const first = schedule.retrieve()
  if (isServing(request.catalog)) {
    first.catch(onFailure)
    return schedule
  }
  try {
    await first
    return schedule
  } catch (cause) {
    schedule.stop()
    throw cause
  }
}

/** A snapshot that was lost, damaged, or laid out by another version serves nobody until it is built again. */
function isServing(catalog: Catalog): boolean {
  try {
    return catalog.current() !== undefined
  } catch (cause) {
    if (cause instanceof StoreError) return false
    throw cause
  }
}

async function writeSample(dataDirectory: string): Promise<string> {
  const folder = join(dataDirectory, 'sandbox')
  await mkdir(folder, { recursive: true })
  const path = join(folder, 'sample.csv')
  await writeFile(path, [...sampleRegister({ rows: SAMPLE_ROWS, seed: SAMPLE_SEED })].join(''))
  return path
}
