/**
 * Builds each snapshot, and writes the journal, in child processes with a limited heap, so that no archive can end or
 * block the service. A child ends by itself when this process dies. It can be killed at any time: a build has a folder
 * of its own, and the journal is written in transactions.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { SnapshotInfo } from '../dataset/snapshot.ts'
import { StoreError } from '../files/environment.ts'
import type { Recording } from '../history/record.ts'
import type { recordRetrievals } from '../history/retrieval.ts'
import type { buildFile, ImportProgress } from './build.ts'
import { ImportError, throwIfStopped } from './errors.ts'
import { newBuildingFolder } from './old-folders.ts'

type RecordRequest = Parameters<typeof recordRetrievals>[0]

/** Sent to the child as JSON. */
type BuildRequest = Parameters<typeof buildFile>[0]

export type ChildJob = { kind: 'build'; request: BuildRequest } | { kind: 'record'; request: RecordRequest }

/** Sent by the child as JSON, in which an error loses its class and its fields. */
export type ChildMessage =
  | { kind: 'progress'; progress: ImportProgress }
  | { kind: 'done'; result: SnapshotInfo | Recording; peakMemoryBytes: number }
  | { kind: 'refused'; code: ImportError['code']; message: string; cause: string | undefined }
  | { kind: 'store failed'; message: string; code: string | undefined; cause: string | undefined }
  | { kind: 'defect'; name: string }

const CHILD = fileURLToPath(new URL('./build-child.js', import.meta.url))

/** Four times what a register of one million companies needs. */
const HEAP_MIB_MAX = 512

interface JobOptions {
  onProgress?: ((progress: ImportProgress) => void) | undefined
  /** Kills the child. The job then rejects with the code `stopped`. */
  signal?: AbortSignal | undefined
}

/** `heapMib` is the limit of the heap of each child. */
export function openBuildProcesses({ heapMib = HEAP_MIB_MAX } = {}) {
  let peakMemoryBytes = 0

  async function run(job: ChildJob, { onProgress, signal }: JobOptions) {
    throwIfStopped(signal)
    const child = startChild(heapMib)
    const kill = () => void child.kill('SIGKILL')
    signal?.addEventListener('abort', kill)
    let last: Exclude<ChildMessage, { kind: 'progress' }> | undefined
    child.on('message', (message: ChildMessage) => {
      if (message.kind === 'progress') onProgress?.(message.progress)
      else last = message
    })
    const ended = Promise.all([
      once(child, 'exit') as Promise<[number | null, string | null]>,
      // All messages have arrived.
      once(child, 'disconnect'),
    ])
    try {
      // A child that could not be started has no channel. If the send fails, the child exits.
      if (child.connected) child.send(job, () => undefined)
      const [[code, endSignal]] = await ended
      if (last?.kind === 'done') {
        peakMemoryBytes = Math.max(peakMemoryBytes, last.peakMemoryBytes)
        return last.result
      }
      throwIfStopped(signal)
      throw last ? toError(last) : crashed(endSignal ?? `exit status ${code}`)
    } catch (cause) {
      if (cause instanceof ImportError || cause instanceof StoreError) throw cause
      throw new StoreError('The process of the import could not be started', { cause })
    } finally {
      signal?.removeEventListener('abort', kill)
    }
  }

  async function build(request: BuildRequest, options: JobOptions = {}): Promise<SnapshotInfo> {
    const folder = newBuildingFolder(request.dataDirectory)
    try {
      return (await run({ kind: 'build', request: { ...request, folder } }, options)) as SnapshotInfo
    } catch (cause) {
      // A killed child leaves its folder behind.
      await rm(folder, { recursive: true, force: true })
      throw cause
    }
  }

  async function record(request: RecordRequest, options: JobOptions): Promise<Recording> {
    return (await run({ kind: 'record', request }, options)) as Recording
  }

  /** `peakMemoryBytes` is the most memory that one of the children has held. */
  return { build, record, peakMemoryBytes: () => peakMemoryBytes }
}

/**
 * The child gets no environment, which may hold credentials. Its stderr is ignored, because V8 writes many lines to it
 * when the heap is exhausted.
 */
function startChild(heapMib: number) {
  // On a full disk LMDB rejects promises that no code awaits (`awaitWrite` in store/files/environment.ts). They must
  // not end it.
  const execArgv = [`--max-old-space-size=${heapMib}`, '--unhandled-rejections=none']
  return fork(CHILD, { execArgv, env: {}, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
}

function toError(failure: Exclude<ChildMessage, { kind: 'progress' | 'done' }>): Error {
  if (failure.kind === 'defect') return crashed(failure.name)
  const cause = failure.cause === undefined ? undefined : new Error(failure.cause)
  if (failure.kind === 'refused') return new ImportError(failure.code, failure.message, cause)
  const { message, code } = failure
  return Object.assign(new StoreError(message, { cause }), code !== undefined && { code })
}

function crashed(ending: string): ImportError {
  return new ImportError('build_crashed', `the process that reads the archive ended unexpectedly (${ending})`)
}
