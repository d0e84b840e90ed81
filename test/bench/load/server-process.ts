/**
 * HTTP servers under load, each a child process. Where there are two cores, servers use core 0 and the client core 1.
 */
import { fork, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'

const SERVER_CORE = '0'
/** Also of the remote services. */
const CLIENT_CORE = '1'
const CORES = { server: SERVER_CORE, client: CLIENT_CORE }
const canPin = cpus().length > 1 && spawnSync('taskset', ['-c', CLIENT_CORE, 'true']).status === 0

interface ProgramProcess<First> extends AsyncDisposable {
  child: ChildProcess
  /** Its first IPC message. */
  first: First
}

export interface ServerProcess extends AsyncDisposable {
  name: string
  url: string
  child: ChildProcess
}

interface ProgramOptions {
  /** Path of a program that sends an IPC message when it has started. */
  program: string
  args?: string[]
  environment?: Record<string, string>
  /** Whether this process prints what the server writes to stderr, reads it from `child.stderr`, or neither. */
  stderr?: 'inherit' | 'pipe' | 'ignore'
  core?: keyof typeof CORES
  /** Options of Node.js. */
  flags?: readonly string[]
}

interface ServerOptions extends ProgramOptions {
  name: string
}

export function testProgram(name: string): string {
  return fileURLToPath(import.meta.resolve(`#root/dist/test/programs/${name}.js`))
}

/**
 * A facilitator and a chain node, on the core of the client, so that they take no time from the servers.
 * @param args the milliseconds after which the node answers, and its blocks that are not final
 */
export function startRemotes(...args: readonly number[]): Promise<ServerProcess> {
  return startServer({
    name: 'remotes',
    program: testProgram('remote-services'),
    args: args.map(String),
    core: 'client',
  })
}

const PACKAGE = readFileSync(fileURLToPath(import.meta.resolve('#root/package.json')), 'utf8')
/** The options of Node.js with which `npm start` starts the service. */
export const SERVICE_FLAGS: readonly string[] = PACKAGE.match(/--max-[\w-]+=\d+/g) ?? []

/** The command `serve`. Its log is discarded. */
export function startService(name: string, environment: Record<string, string>): Promise<ServerProcess> {
  return startServer({ name, program: testProgram('serve'), environment, stderr: 'ignore', flags: SERVICE_FLAGS })
}

/** @param options of a program whose first message is its URL */
export async function startServer({ name, ...options }: ServerOptions): Promise<ServerProcess> {
  const { first: url, ...started } = await startProgram<string>(options)
  return { name, url, ...started }
}

export async function startProgram<First>(options: ProgramOptions): Promise<ProgramProcess<First>> {
  const { program, args = [], environment = {}, stderr = 'inherit', core = 'server', flags = [] } = options
  const node = [process.execPath, '--expose-gc', ...flags]
  const [execPath = '', ...execArgv] = canPin ? ['taskset', '-c', CORES[core], ...node] : node
  const child = fork(program, args, {
    execPath,
    execArgv,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'ignore', stderr, 'ipc'],
  })
  const first = await nextMessage<First>(child)
  return {
    child,
    first,
    async [Symbol.asyncDispose]() {
      const isRunning = child.exitCode === null && child.signalCode === null
      const exited = isRunning ? once(child, 'exit') : undefined
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** The next IPC message. Rejects if the process exits first. */
export async function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  const waiting = new AbortController()
  const { signal } = waiting
  const exit = once(child, 'exit', { signal }).then(() => Promise.reject(new Error('A child process exited')))
  exit.catch(() => undefined)
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), exit])) as [Message]
    return message
  } finally {
    waiting.abort()
  }
}

/** Pins this process to the client's core until it is disposed. Child processes inherit the core. */
export function pinClient(): Disposable {
  const pin = (cores: string) => canPin && spawnSync('taskset', ['-acp', cores, String(process.pid)])
  pin(CLIENT_CORE)
  return { [Symbol.dispose]: () => void pin(`0-${cpus().length - 1}`) }
}

/** The longest time that the event loop of a program `serve` was held since the last call, in milliseconds. */
export async function longestHoldMs({ child }: ServerProcess): Promise<number> {
  child.send('hold')
  return nextMessage<number>(child)
}

/** The heap of a program `serve` after a garbage collection. */
export async function heapBytes({ child }: ServerProcess): Promise<number> {
  child.send('heap')
  return nextMessage<number>(child)
}

/** CPU time of all live threads, in microseconds; NaN outside Linux. */
export function cpuMicroseconds({ pid }: ChildProcess): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const nanoseconds = threads.map((id) =>
      Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
    )
    return nanoseconds.reduce((sum, each) => sum + each, 0) / 1000
  } catch {
    return Number.NaN
  }
}

/** Resident memory in MiB, `VmHWM` its peak; NaN outside Linux. */
export function residentMemory(pid: number | undefined, field: 'VmRSS' | 'VmHWM' | 'RssAnon' = 'VmRSS'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`^${field}:\\s+([0-9]+) kB$`, 'm').exec(status)?.[1]) / 1024
  } catch {
    return Number.NaN
  }
}
