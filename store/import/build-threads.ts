/** Builds snapshots in worker threads, so that a service can answer requests during an import. */
import { Worker } from 'node:worker_threads'
import { StoreError } from '../environment.ts'
import type { SnapshotInfo } from '../snapshot.ts'
import type { BuildFile, ImportProgress } from './build.ts'
import { ImportError, type ImportErrorCode } from './errors.ts'
import type { ExpectedRows } from './row-count.ts'

/** The data that a worker thread receives. */
export interface BuildJob {
  dataDirectory: string
  path: string
  pid: number
  token: string
  importedAt: string
  expected: ExpectedRows | undefined
  /** Set to a value other than 0 to stop the build. The worker reads it after each batch. */
  stopped: Int32Array<SharedArrayBuffer>
}

/** An error in a form that can be sent between threads, which lose classes and custom fields of errors. */
export type WorkerFailure =
  | { kind: 'import'; code: ImportErrorCode; message: string; cause: string | undefined }
  | { kind: 'store'; message: string; cause: string | undefined }
  | { kind: 'other'; message: string; code: string | undefined }

export type WorkerMessage =
  | { kind: 'progress'; progress: ImportProgress }
  | { kind: 'built'; info: SnapshotInfo }
  | { kind: 'failed'; failure: WorkerFailure }

/** A batch takes a quarter of a second. A worker that runs longer is terminated; the next import removes its folder. */
const STOP_MS_MAX = 5_000

export interface BuildThreads {
  build: BuildFile
  /** Stops the running builds. Each rejects with the code `stopped` and leaves nothing on disk. */
  stop(): Promise<void>
}

export function openBuildThreads(): BuildThreads {
  const running = new Map<Worker, { stopped: Int32Array; ended: Promise<void> }>()
  return {
    build({ dataDirectory, path, processes, now, onProgress, expected, signal }) {
      const stopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
      signal?.addEventListener('abort', () => void Atomics.store(stopped, 0, 1))
      const { ownPid: pid, token } = processes
      const job: BuildJob = { dataDirectory, path, pid, token, importedAt: now().toISOString(), expected, stopped }
      // On a full disk LMDB rejects promises that no code awaits (`awaitWrite` in store/environment.ts). They must not end the thread.
      const execArgv = ['--unhandled-rejections=none']
      const worker = new Worker(new URL('./build-worker.js', import.meta.url), { workerData: job, execArgv })
      const ended = new Promise<void>((resolve) => void worker.once('exit', () => resolve()))
      running.set(worker, { stopped, ended })
      return waitForResult(worker, onProgress).finally(async () => {
        await ended
        running.delete(worker)
      })
    },
    async stop() {
      const stops = [...running].map(async ([worker, { stopped, ended }]) => {
        Atomics.store(stopped, 0, 1)
        const timeout = setTimeout(() => void worker.terminate(), STOP_MS_MAX)
        await ended
        clearTimeout(timeout)
      })
      await Promise.all(stops)
    },
  }
}

function waitForResult(worker: Worker, onProgress: (progress: ImportProgress) => void): Promise<SnapshotInfo> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: WorkerMessage) => {
      if (message.kind === 'progress') onProgress(message.progress)
      else if (message.kind === 'built') resolve(message.info)
      else reject(toError(message.failure))
    })
    worker.once('error', reject)
    // Has no effect if the result has arrived.
    worker.once('exit', () => reject(new ImportError('stopped', 'the import was stopped')))
  })
}

function toError(failure: WorkerFailure): Error {
  if (failure.kind === 'other') return Object.assign(new Error(failure.message), failure.code && { code: failure.code })
  const cause = failure.cause === undefined ? undefined : new Error(failure.cause)
  if (failure.kind === 'import') return new ImportError(failure.code, failure.message, cause)
  return new StoreError(failure.message, { cause })
}
