/** Keeps the dataset at hand: retrieves it at start and daily. What fails leaves the last good snapshot, which ages. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Catalog } from '../store/catalog.ts'
import type { BuildFile, Processes } from '../store/import/build.ts'
import { importDataset, type ImportResult } from '../store/import/run.ts'
import { CRO_COMPANIES, SYNTHETIC } from '../store/source.ts'
import { sampleRegister } from './sandbox/sample.ts'

/** The register is published daily (spec 1). */
const CHECK_EVERY_MS = 24 * 60 * 60 * 1000

/** What the catalogue remembers the sandbox's made-up sample by. */
const SAMPLE_LOCATION = 'sandbox:sample'
const SAMPLE_ROWS = 1_000
const SAMPLE_SEED = 1

export interface DatasetRequest {
  dataDirectory: string
  catalog: Catalog
  /** A local archive; without one, whatever was retrieved last, and at first the made-up sample. */
  path: string | undefined
  processes: Processes
  /** Builds a snapshot; off the event loop where requests are answered. */
  build?: BuildFile
  now: () => Date
}

/** Retrieves the dataset that is configured, or the one that is being served. Unchanged, it is fresh again. */
export async function retrieveDataset(request: DatasetRequest): Promise<ImportResult> {
  const location = request.path ?? request.catalog.retrieval()?.location ?? SAMPLE_LOCATION
  const { path: _, ...surroundings } = request
  if (location !== SAMPLE_LOCATION) {
    return importDataset({ ...surroundings, path: location, publication: CRO_COMPANIES })
  }
  const path = await writeSample(request.dataDirectory)
  return importDataset({ ...surroundings, path, location, publication: SYNTHETIC })
}

/** Retrieves again every day until told to stop; reports how each went. */
export function retrieveDaily(request: DatasetRequest, report: (event: string, cause: unknown) => void): () => void {
  const timer = setInterval(() => {
    retrieveDataset(request).catch((cause: unknown) => report('dataset_retrieval_failed', cause))
  }, CHECK_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

async function writeSample(dataDirectory: string): Promise<string> {
  const folder = join(dataDirectory, 'sandbox')
  await mkdir(folder, { recursive: true })
  const path = join(folder, 'sample.csv')
  await writeFile(path, [...sampleRegister({ rows: SAMPLE_ROWS, seed: SAMPLE_SEED })].join(''))
  return path
}
