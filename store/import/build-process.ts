/**
 * Builds each snapshot in a child process with a limited heap, so that no archive can end or block the service. The child
 * ends by itself when this process dies.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { StoreError } from '../files/environment.ts'
import type { BuildFile, BuildFileRequest, BuiltSnapshot, ImportProgress } from './build.ts'
import { newBuildingFolder } from './building-folder.ts'
import { ImportError, type ImportErrorCode } from './errors.ts'

/** What the child needs to build a snapshot, as JSON. */
export interface BuildJob extends Pick<
  BuildFileRequest,
  'dataDirectory' | 'folder' | 'path' | 'expected' | 'previousFolder'
> {
  importedAt: string
}

export type ParentMessage = { kind: 'start'; job: BuildJob } | { kind: 'stop' }

/** An error as JSON, which loses the class and the fields of an error. */
export type BuildFailure =
  | { kind: 'import'; code: ImportErrorCode; message: string; cause: string | undefined }
  | { kind: 'store'; message: string; cause: string | undefined }
  | { kind: 'system'; message: string; code: string }
  | { kind: 'defect'; name: string }

type BuildResult =
  { kind: 'built'; built: BuiltSnapshot; peakMemoryBytes: number } | { kind: 'failed'; failure: BuildFailure }

export type ChildMessage = { kind: 'progress'; progress: ImportProgress } | BuildResult

const CHILD = fileURLToPath(new URL('./build-child.js', import.meta.url))

/** Four times what a register of one million companies needs. */
const HEAP_MIB_MAX = 512

/** A batch takes a quarter of a second. A child that runs longer is killed. */
const STOP_MS_MAX = 5_000

interface BuildProcesses {
  build: BuildFile
  /** The most memory that one of the children has held. */
  peakMemoryBytes(): number
  /** Stops the running builds. Each rejects with the code `stopped` and leaves nothing on disk. */
  stop(): Promise<void>
}

interface RunningBuild {
  child: ChildProcess
  isStopping: boolean
  ended: Promise<unknown>
}

interface BuildProcessOptions {
  /** The limit of the heap of each child. */
  heapMib?: number
}

export function openBuildProcesses({ heapMib = HEAP_MIB_MAX }: BuildProcessOptions = {}): BuildProcesses {
  const running = new Set<RunningBuild>()
  let peakMemoryBytes = 0

  const build: BuildFile = async ({ dataDirectory, path, now, onProgress, signal, ...job }) => {
    const folder = newBuildingFolder(dataDirectory)
    const child = startChild(heapMib)
    const ended = endOf(child)
    const state: RunningBuild = { child, isStopping: false, ended: ended.catch(() => undefined) }
    running.add(state)
    const stop = () => requestStop(state)
    signal?.addEventListener('abort', stop)
    try {
      let result: BuildResult | undefined
      child.on('message', (message: ChildMessage) => {
        if (message.kind === 'progress') onProgress(message.progress)
        else result = message
      })
      send(child, { kind: 'start', job: { ...job, dataDirectory, folder, path, importedAt: now().toISOString() } })
      if (signal?.aborted) stop()
      const ending = await ended
      if (!result) await rm(folder, { recursive: true, force: true })
      if (result?.kind === 'built') {
        peakMemoryBytes = Math.max(peakMemoryBytes, result.peakMemoryBytes)
        return result.built
      }
      throw result ? toError(result.failure) : state.isStopping ? stopped() : crashed(ending)
    } finally {
      signal?.removeEventListener('abort', stop)
      running.delete(state)
    }
  }

  return {
    build,
    peakMemoryBytes: () => peakMemoryBytes,
    async stop() {
      await Promise.all([...running].map(stopBuild))
    },
  }
}

/**
 * The child gets no environment, which may hold credentials. Its stderr is ignored, because V8 writes many lines to it when
 * the heap is exhausted.
 */
function startChild(heapMib: number): ChildProcess {
  // On a full disk LMDB rejects promises that no code awaits (`awaitWrite` in store/files/environment.ts). They must not end it.
  const execArgv = [`--max-old-space-size=${heapMib}`, '--unhandled-rejections=none']
  return fork(CHILD, { execArgv, env: {}, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
}

/** Resolves with the signal or exit code once the child has ended and all of its messages have arrived. */
async function endOf(child: ChildProcess): Promise<string> {
  try {
    const [[code, signal]] = await Promise.all([
      once(child, 'exit') as Promise<[number | null, string | null]>,
      once(child, 'disconnect'),
    ])
    return signal ?? `exit status ${code}`
  } catch (cause) {
    throw new StoreError('The process that builds the snapshot could not be started', { cause })
  }
}

/** Ignores failures: the end of the child is noticed by `endOf`. */
function send(child: ChildProcess, message: ParentMessage): void {
  if (child.connected) child.send(message, () => undefined)
}

function requestStop(build: RunningBuild): void {
  build.isStopping = true
  send(build.child, { kind: 'stop' })
}

async function stopBuild(build: RunningBuild): Promise<void> {
  requestStop(build)
  const timeout = setTimeout(() => void build.child.kill('SIGKILL'), STOP_MS_MAX)
  await build.ended
  clearTimeout(timeout)
}

function stopped(): ImportError {
  return new ImportError('stopped', 'the import was stopped')
}

function crashed(ending: string): ImportError {
  return new ImportError('build_crashed', `the process that reads the archive ended unexpectedly (${ending})`)
}

function toError(failure: BuildFailure): Error {
  switch (failure.kind) {
    case 'import':
      return new ImportError(failure.code, failure.message, toCause(failure.cause))
    case 'store':
      return new StoreError(failure.message, { cause: toCause(failure.cause) })
    case 'system':
      return Object.assign(new Error(failure.message), { code: failure.code })
    case 'defect':
      return crashed(failure.name)
  }
}

function toCause(message: string | undefined): Error | undefined {
  return message === undefined ? undefined : new Error(message)
}
