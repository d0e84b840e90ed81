/**
 * Builds each snapshot, and writes the journal, in child processes with a limited heap, so that no archive can end or block the
 * service. A child ends by itself when this process dies.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { StoreError } from '../files/environment.ts'
import type { Recording } from '../history/record.ts'
import type { RecordRetrievals } from '../history/retrieval.ts'
import type { StepFacts } from '../history/step.ts'
import type { BuildFile, BuildFileRequest, BuiltSnapshot, ImportProgress } from './build.ts'
import { newBuildingFolder } from './building-folder.ts'
import { ImportError, type ImportErrorCode } from './errors.ts'

/** What the child needs to build a snapshot, as JSON. */
export interface BuildJob extends Pick<BuildFileRequest, 'dataDirectory' | 'folder' | 'path' | 'expected'> {
  kind: 'build'
  importedAt: string
}

/** What the child needs to write the journal, as JSON. */
export interface RecordJob {
  kind: 'record'
  dataDirectory: string
  retrievals: readonly StepFacts[]
}

export type ParentMessage = { kind: 'start'; job: BuildJob | RecordJob } | { kind: 'stop' }

/** An error as JSON, which loses the class and the fields of an error. */
export type BuildFailure =
  | { kind: 'import'; code: ImportErrorCode; message: string; cause: string | undefined }
  | { kind: 'store'; message: string; cause: string | undefined }
  | { kind: 'system'; message: string; code: string }
  | { kind: 'defect'; name: string }

type ChildResult =
  | { kind: 'built'; built: BuiltSnapshot; peakMemoryBytes: number }
  | { kind: 'recorded'; recording: Recording; peakMemoryBytes: number }
  | { kind: 'failed'; failure: BuildFailure }

export type ChildMessage = { kind: 'progress'; progress: ImportProgress } | ChildResult

const CHILD = fileURLToPath(new URL('./build-child.js', import.meta.url))

/** Four times what a register of one million companies needs. */
const HEAP_MIB_MAX = 512

/** A batch takes a quarter of a second. A child that runs longer is killed. */
const STOP_MS_MAX = 5_000

interface BuildProcesses {
  build: BuildFile
  record: RecordRetrievals
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

interface RunOptions {
  onProgress?: BuildFileRequest['onProgress']
  signal?: AbortSignal | undefined
}

interface BuildProcessOptions {
  /** The limit of the heap of each child. */
  heapMib?: number
}

export function openBuildProcesses({ heapMib = HEAP_MIB_MAX }: BuildProcessOptions = {}): BuildProcesses {
  const running = new Set<RunningBuild>()
  let peakMemoryBytes = 0

  async function run(job: BuildJob | RecordJob, { onProgress, signal }: RunOptions): Promise<ChildResult> {
    const child = startChild(heapMib)
    const ended = endOf(child)
    const state: RunningBuild = { child, isStopping: false, ended: ended.catch(() => undefined) }
    running.add(state)
    const stop = () => requestStop(state)
    signal?.addEventListener('abort', stop)
    try {
      let result: ChildResult | undefined
      child.on('message', (message: ChildMessage) => {
        if (message.kind === 'progress') onProgress?.(message.progress)
        else result = message
      })
      send(child, { kind: 'start', job })
      if (signal?.aborted) stop()
      const ending = await ended
      if (!result) throw state.isStopping ? stopped() : crashed(ending)
      if (result.kind === 'failed') throw toError(result.failure)
      peakMemoryBytes = Math.max(peakMemoryBytes, result.peakMemoryBytes)
      return result
    } finally {
      signal?.removeEventListener('abort', stop)
      running.delete(state)
    }
  }

  const build: BuildFile = async ({ dataDirectory, path, now, onProgress, signal, expected }) => {
    const folder = newBuildingFolder(dataDirectory)
    const job = { kind: 'build', dataDirectory, folder, path, expected, importedAt: now().toISOString() } as const
    try {
      const result = await run(job, { onProgress, signal })
      if (result.kind === 'built') return result.built
      throw new Error('the child process did another job')
    } catch (cause) {
      // A child that was killed has left it.
      await rm(folder, { recursive: true, force: true })
      throw cause
    }
  }

  const record: RecordRetrievals = async ({ signal, ...job }) => {
    const result = await run({ kind: 'record', ...job }, { signal })
    if (result.kind === 'recorded') return result.recording
    throw new Error('the child process did another job')
  }

  return {
    build,
    record,
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
    throw new StoreError('The process of the import could not be started', { cause })
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
