/** The processes of the benchmarks over HTTP: server and client on a core each where that can be had, measured from outside. */
import { fork, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { REGISTER } from '../../support/fixtures.ts'

const SERVER_CORE = '0'
const CLIENT_CORE = '1'
/** Linux's USER_HZ, which is the same on every machine that Node runs on. */
const TICKS_PER_SECOND = 100

const isPinned = cpus().length > 1 && spawnSync('taskset', ['-c', CLIENT_CORE, 'true']).status === 0

export function machine(): string {
  const cores = `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}`
  const places = isPinned ? `server on core ${SERVER_CORE}, client on core ${CLIENT_CORE}` : 'not pinned to cores'
  return `${cores}, ${places}, ${new Date().toISOString().slice(0, 10)}`
}

function start(file: string, core: string, args: string[], environment: Record<string, string> = {}): ChildProcess {
  const node = [process.execPath, '--expose-gc']
  const [execPath = '', ...execArgv] = isPinned ? ['taskset', '-c', core, ...node] : node
  const env = { PATH: process.env['PATH'] ?? '', ...environment }
  return fork(fileURLToPath(import.meta.resolve(`#root/dist/test/${file}`)), args, {
    execPath,
    execArgv,
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // JSON has no NaN.
    serialization: 'advanced',
  })
}

/** Takes the server's core for this process and all its threads. */
export function beTheServer(): void {
  if (isPinned) spawnSync('taskset', ['-acp', SERVER_CORE, String(process.pid)])
}

/** The buyers of `paid-path`. */
export function startBuyers(): ChildProcess {
  return start('bench/paid/load.js', CLIENT_CORE, [])
}

export function startClient(): ChildProcess {
  return start('bench/http/load.js', CLIENT_CORE, [])
}

export function startPlain(kind: 'node' | 'express'): ChildProcess {
  return start('bench/http/plain.js', SERVER_CORE, [kind])
}

export interface RunningService {
  process: ChildProcess
  url: string
  stop(): Promise<void>
}

/** The whole service with the limits it has, but for the rate; its facilitator and chain answer at once. */
export async function startService(): Promise<RunningService> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-http-'))
  const child = start('support/busy-service.js', SERVER_CORE, [], {
    DATA_DIR: directory,
    DATASET: REGISTER,
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '900000000',
  })
  const url = await answerOf<string>(child)
  async function stop(): Promise<void> {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
    await rm(directory, { recursive: true })
  }
  return { process: child, url, stop }
}

export async function ask<Reply>(child: ChildProcess, message: object): Promise<Reply> {
  const answer = answerOf<Reply>(child)
  child.send(message)
  return answer
}

async function answerOf<Reply>(child: ChildProcess): Promise<Reply> {
  const settled = new AbortController()
  const { signal } = settled
  const gone = once(child, 'exit', { signal }).then(() => Promise.reject(new Error('A process has left')))
  gone.catch(() => undefined)
  try {
    const [reply] = (await Promise.race([once(child, 'message', { signal }), gone])) as [Reply]
    return reply
  } finally {
    settled.abort()
  }
}

/** User and system time of all threads; NaN where the system doesn't say. */
export function cpuMicroseconds({ pid }: ChildProcess): number {
  const [, fields = ''] = /^.*\) (.*)$/s.exec(proc(`${pid}/stat`)) ?? []
  const [user, system] = fields.split(' ').slice(11, 13)
  return ((Number(user) + Number(system)) / TICKS_PER_SECOND) * 1e6
}

export interface Memory {
  heap: number
  /** All of what is resident, and the part that is no file's: LMDB's pages are the system's to take back. */
  resident: number
  anonymous: number
}

/** In MiB, after a garbage collection. */
export async function memoryOf(child: ChildProcess): Promise<Memory> {
  const { heapUsed, external } = await ask<NodeJS.MemoryUsage>(child, {})
  const status = proc(`${child.pid}/status`)
  const line = (name: string) => Number(new RegExp(`^${name}:\\s+([0-9]+) kB$`, 'm').exec(status)?.[1]) / 1024
  return { heap: (heapUsed + external) / 2 ** 20, resident: line('VmRSS'), anonymous: line('RssAnon') }
}

/** How many files, and so sockets, a process of ours may have open. */
export function openFilesMax(): number {
  return Number(/^Max open files\s+([0-9]+)/m.exec(proc('self/limits'))?.[1])
}

function proc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}
