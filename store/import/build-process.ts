/**
 * Downloads, builds and records in child processes with a limited heap and time, so that no source and no archive can
 * end or block the service. A child ends when this process dies, and can be killed at any time: downloads and builds
 * have folders of their own, and the journal is written in transactions.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { StoreError } from '../files/environment.ts'
import type { recordRetrievals } from '../history/record.ts'
import type { buildFile, BuiltSnapshot, ImportProgress } from './build.ts'
import type { Download, downloadArchive } from './download.ts'
import { ImportError, throwIfStopped } from './errors.ts'
import { newBuildingFolder } from './old-folders.ts'

type DownloadRequest = Parameters<typeof downloadArchive>[0]
type BuildRequest = Parameters<typeof buildFile>[0]
type RecordRequest = Parameters<typeof recordRetrievals>[0]

export type ChildJob =
  | { kind: 'download'; request: DownloadRequest }
  | { kind: 'build'; request: BuildRequest }
  | { kind: 'record'; request: RecordRequest }

/** Sent by the child as JSON, in which an error loses its class and its fields. */
export type ChildMessage =
  | { kind: 'progress'; progress: ImportProgress }
  | { kind: 'done'; result: Download | BuiltSnapshot | void; peakMemoryBytes: number }
  | Failure

interface Failure {
  kind: 'refused' | 'store failed' | 'defect'
  name: string
  message: string
  code: string | undefined
  /** Its message. */
  cause: string | undefined
}

const CHILD = fileURLToPath(new URL('./build-child.js', import.meta.url))

/** Four times what a register of one million companies needs. */
const HEAP_MIB_MAX = 512

/** Allows for a download of the largest archive at 300 kB/s. Other jobs take a minute. */
const JOB_MS_MAX = 30 * 60_000

interface JobOptions {
  onProgress?: ((progress: ImportProgress) => void) | undefined
  /** Kills the child. The job then rejects with the code `stopped`. */
  signal?: AbortSignal | undefined
}

/** `heapMib` is the limit of the heap of each child, `jobMs` that of its time. */
export function openBuildProcesses({ heapMib = HEAP_MIB_MAX, jobMs = JOB_MS_MAX } = {}) {
  let peakMemoryBytes = 0

  async function run(job: ChildJob, { onProgress, signal }: JobOptions) {
    throwIfStopped(signal)
    const child = startChild(heapMib)
    const kill = () => void child.kill('SIGKILL')
    signal?.addEventListener('abort', kill)
    let isLate = false
    const deadline = setTimeout(() => {
      isLate = true
      kill()
    }, jobMs)
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
      if (isLate) throw new ImportError('import_timeout', `the ${job.kind} took longer than ${jobMs} ms`)
      throw last ? toError(last) : crashed(endSignal ?? `exit status ${code}`)
    } catch (cause) {
      if (cause instanceof ImportError || cause instanceof StoreError) throw cause
      throw new StoreError('The process of the import could not be started', { cause })
    } finally {
      clearTimeout(deadline)
      signal?.removeEventListener('abort', kill)
    }
  }

  /** The caller removes the folder. */
  const download = async (request: DownloadRequest, options: JobOptions) =>
    (await run({ kind: 'download', request }, options)) as Download

  async function build(request: BuildRequest, options: JobOptions = {}): Promise<BuiltSnapshot> {
    const folder = newBuildingFolder(request.dataDirectory)
    try {
      return (await run({ kind: 'build', request: { ...request, folder } }, options)) as BuiltSnapshot
    } catch (cause) {
      // A killed child leaves its folder behind.
      await rm(folder, { recursive: true, force: true })
      throw cause
    }
  }

  const record = async (request: RecordRequest, options: JobOptions): Promise<void> =>
    void (await run({ kind: 'record', request }, options))

  /** `peakMemoryBytes` is the most memory that one of the children has held. */
  return { download, build, record, peakMemoryBytes: () => peakMemoryBytes }
}

/** Variables that name the certificates of private sources. NODE_OPTIONS can have `--use-openssl-ca`. */
const CERTIFICATES = ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']

/**
 * The child gets no other environment, which may hold credentials. Its stderr is ignored, because V8 writes many lines
 * to it when the heap is exhausted.
 */
function startChild(heapMib: number) {
  // On a full disk LMDB rejects promises that no code awaits (`awaitWrite` in store/files/environment.ts). They must
  // not end it.
  const execArgv = [`--max-old-space-size=${heapMib}`, '--unhandled-rejections=none']
  const env = Object.fromEntries(CERTIFICATES.map((name) => [name, process.env[name]]))
  return fork(CHILD, { execArgv, env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
}

function toError({ kind, name, message, code, cause: reason }: Failure): Error {
  const cause = reason === undefined ? undefined : new Error(reason)
  if (kind === 'refused') return new ImportError(code as ImportError['code'], message, cause)
  if (kind === 'store failed') return Object.assign(new StoreError(message, { cause }), code !== undefined && { code })
  return crashed(name)
}

function crashed(ending: string): ImportError {
  return new ImportError('build_crashed', `the process that reads the archive ended unexpectedly (${ending})`)
}
