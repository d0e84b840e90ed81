/** The thread that builds a snapshot (store/import/thread.ts starts it): one archive, then it ends. */
import { constants, platform, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { StoreError } from '../open.ts'
import { buildFile } from './build.ts'
import { ImportError } from './errors.ts'
import type { Failure, Job, Report } from './thread.ts'

const { dataDirectory, path, own, token, importedAt, expected, stopped } = workerData as Job
const send = (report: Report) => parentPort?.postMessage(report, [])

/**
 * Requests come first where cores are few. On Linux a priority is a thread's, and 0 the thread that asks; elsewhere it
 * would be the whole process's.
 */
if (platform() === 'linux') setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)

/** Told of every batch, outside of any transaction: the place to leave at. */
function goOn(progress: Parameters<Parameters<typeof buildFile>[0]['onProgress']>[0]): void {
  if (Atomics.load(stopped, 0) !== 0) throw new ImportError('stopped', 'the import was stopped')
  send({ kind: 'progress', progress })
}

function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : 'unknown reason'
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : undefined
  if (error instanceof ImportError) return { kind: 'import', fault: error.fault, message, cause }
  if (error instanceof StoreError) return { kind: 'store', message, cause }
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  return { kind: 'other', message, code }
}

try {
  const processes = { own, token, isRunning: () => true }
  const now = () => new Date(importedAt)
  const wanted = expected && { expected }
  const info = await buildFile({ dataDirectory, path, processes, now, onProgress: goOn, ...wanted })
  send({ kind: 'built', info })
} catch (error) {
  send({ kind: 'failed', failure: failureOf(error) })
}
