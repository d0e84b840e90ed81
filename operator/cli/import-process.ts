/**
 * Runs the command `import` in a child process with a limited heap and time, so that no source and no archive can end
 * or block the service. The child can be killed at any time: it publishes with one write, and the journal is written
 * in transactions.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RunImport } from '../../agent/service/dataset.ts'
import { IMPORT_ERROR_CODES, ImportError } from '../../store/import/errors.ts'

const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url))

/** Four times what a register of one million companies needs. */
const HEAP_MIB_MAX = 512
/** Allows for a download of the largest archive at 300 kB/s. The rest takes two minutes. */
const IMPORT_MS_MAX = 35 * 60_000
/** V8 writes many lines when the heap is exhausted. */
const STDERR_CHARACTERS_MAX = 4_096

/** Variables that name the certificates of private sources. NODE_OPTIONS can have `--use-openssl-ca`. */
const CERTIFICATES = ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']

interface ProcessOptions {
  dataDirectory: string
  /** The child gets its certificates and nothing else, because the rest may hold credentials. */
  environment: Record<string, string | undefined>
  heapMib?: number
  importMs?: number
}

export function importInProcess(options: ProcessOptions): RunImport {
  const { dataDirectory, environment, heapMib = HEAP_MIB_MAX, importMs = IMPORT_MS_MAX } = options
  const env = { ...Object.fromEntries(CERTIFICATES.map((name) => [name, environment[name]])), DATA_DIR: dataDirectory }
  return async (args, signal) => {
    const child = fork(PROGRAM, ['import', ...args], {
      execArgv: [`--max-old-space-size=${heapMib}`],
      env,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      timeout: importMs,
      killSignal: 'SIGKILL',
    })
    let stderr = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(0, STDERR_CHARACTERS_MAX)
    })
    const kill = () => void child.kill('SIGKILL')
    signal.addEventListener('abort', kill)
    if (signal.aborted) kill()
    try {
      const [status, endSignal] = (await once(child, 'close')) as [number | null, string | null]
      if (status === 0) return
      // Killed by this process, but not for a stop.
      if (child.killed && !signal.aborted)
        throw new ImportError('import_timeout', `the import took longer than ${importMs} ms`)
      throw failureIn(stderr, endSignal ?? `exit status ${status}`)
    } finally {
      signal.removeEventListener('abort', kill)
    }
  }
}

/** Reads the line that operator/cli/run.ts prints for a failed import. `ending`: how the process ended. */
export function failureIn(stderr: string, ending: string): ImportError {
  const [, text = '', message = ''] = /^import failed, (\w+): (.+)$/m.exec(stderr) ?? []
  const code = IMPORT_ERROR_CODES.find((each) => each === text)
  if (code !== undefined) return new ImportError(code, message)
  return new ImportError('import_crashed', `the process of the import ended unexpectedly (${ending})`)
}
