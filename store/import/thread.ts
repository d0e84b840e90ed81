/** Builds snapshots in a thread of their own, so that a service that imports goes on answering. */
import { Worker } from 'node:worker_threads'
import { StoreError } from '../open.ts'
import type { SnapshotInfo } from '../snapshot.ts'
import type { BuildFile, Progress } from './build.ts'
import { ImportError, type ImportFault } from './errors.ts'
import type { Expected } from './guard.ts'

/** What the thread is given. */
export interface Job {
  dataDirectory: string
  path: string
  /** The process that the building folder is named after. */
  own: number
  token: string
  importedAt: string
  expected: Expected | undefined
  /** Not zero once the build is to be left: seen at the next batch, without a turn of the thread's event loop. */
  stopped: Int32Array<SharedArrayBuffer>
}

/** An error in a form that survives the crossing: classes and their fields don't. */
export type Failure =
  | { kind: 'import'; fault: ImportFault; message: string; cause: string | undefined }
  | { kind: 'store'; message: string; cause: string | undefined }
  | { kind: 'other'; message: string; code: string | undefined }

/** What the thread says. */
export type Report =
  | { kind: 'progress'; progress: Progress }
  | { kind: 'built'; info: SnapshotInfo }
  | { kind: 'failed'; failure: Failure }

/** A batch takes a quarter of a second; what has not left after this is ended, and the next import removes its folder. */
const STOP_MS_MAX = 5_000

export interface BuildThreads {
  build: BuildFile
  /** Ends the builds under way; each is refused as `stopped` and leaves nothing. */
  stop(): Promise<void>
}

export function openBuildThreads(): BuildThreads {
  const running = new Map<Worker, { stopped: Int32Array; ended: Promise<void> }>()
  return {
    build({ dataDirectory, path, processes, now, onProgress, expected, signal }) {
      const stopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
      signal?.addEventListener('abort', () => void Atomics.store(stopped, 0, 1))
      const { own, token } = processes
      const job: Job = { dataDirectory, path, own, token, importedAt: now().toISOString(), expected, stopped }
      // On a full disk LMDB rejects promises that nobody holds (store/open.ts): they must not end the thread.
      const execArgv = ['--unhandled-rejections=none']
      const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: job, execArgv })
      const ended = new Promise<void>((resolve) => void worker.once('exit', () => resolve()))
      running.set(worker, { stopped, ended })
      return result(worker, onProgress).finally(async () => {
        await ended
        running.delete(worker)
      })
    },
    async stop() {
      const ends = [...running].map(async ([worker, { stopped, ended }]) => {
        Atomics.store(stopped, 0, 1)
        const timer = setTimeout(() => void worker.terminate(), STOP_MS_MAX)
        await ended
        clearTimeout(timer)
      })
      await Promise.all(ends)
    },
  }
}

function result(worker: Worker, onProgress: (progress: Progress) => void): Promise<SnapshotInfo> {
  return new Promise((resolve, reject) => {
    worker.on('message', (report: Report) => {
      if (report.kind === 'progress') onProgress(report.progress)
      else if (report.kind === 'built') resolve(report.info)
      else reject(errorOf(report.failure))
    })
    worker.once('error', reject)
    // After its last message this changes nothing.
    worker.once('exit', () => reject(new ImportError('stopped', 'the import was ended')))
  })
}

function errorOf(failure: Failure): Error {
  if (failure.kind === 'other') return Object.assign(new Error(failure.message), failure.code && { code: failure.code })
  const cause = failure.cause === undefined ? undefined : new Error(failure.cause)
  if (failure.kind === 'import') return new ImportError(failure.fault, failure.message, cause)
  return new StoreError(failure.message, { cause })
}
