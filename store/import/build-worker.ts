/** The worker thread that builds one snapshot and ends. store/import/build-threads.ts starts it. */
import { constants, platform, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { StoreError } from '../environment.ts'
import { buildFile, type ImportProgress } from './build.ts'
import type { BuildJob, WorkerFailure, WorkerMessage } from './build-threads.ts'
import { ImportError } from './errors.ts'

const { dataDirectory, path, pid, token, importedAt, expected, stopped } = workerData as BuildJob
const send = (message: WorkerMessage) => parentPort?.postMessage(message, [])

// Requests take precedence over the import. On Linux, pid 0 is the calling thread; elsewhere it is the whole process.
if (platform() === 'linux') setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)

/** Called after each batch, outside of any transaction, so the build can stop here. */
function onProgress(progress: ImportProgress): void {
  if (Atomics.load(stopped, 0) !== 0) throw new ImportError('stopped', 'the import was stopped')
  send({ kind: 'progress', progress })
}

function toFailure(error: unknown): WorkerFailure {
  const message = error instanceof Error ? error.message : 'unknown reason'
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : undefined
  if (error instanceof ImportError) return { kind: 'import', code: error.code, message, cause }
  if (error instanceof StoreError) return { kind: 'store', message, cause }
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  return { kind: 'other', message, code }
}

try {
  const processes = { ownPid: pid, token, isRunning: () => true }
  const now = () => new Date(importedAt)
  const info = await buildFile({ dataDirectory, path, processes, now, onProgress, ...(expected && { expected }) })
  send({ kind: 'built', info })
} catch (error) {
  send({ kind: 'failed', failure: toFailure(error) })
}
