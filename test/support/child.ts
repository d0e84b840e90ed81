/** Starts programs as child processes, for tests of kills, signals, exit codes and output. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Far above any start on a loaded machine. */
const START_MS_MAX = 120_000

/** Children that have not ended. */
const running = new Set<ChildProcess>()

/** Kills what a test file has left running, for the root hook in hooks.ts. */
export function killChildren(): void {
  for (const child of running) child.kill('SIGKILL')
}

export interface Child {
  process: ChildProcess
  /** The lines of stdout: the rest of a line by its first word. */
  said: Map<string, string>
  stderr: () => string
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals | null>
}

/**
 * Starts a compiled file of this project, or the file of an absolute path, possibly by another command. Of the caller's
 * environment, only PATH is passed on.
 */
export function startChild(
  file: string,
  args: string[],
  environment: Record<string, string>,
  command: readonly string[] = [],
): Child {
  const [program = '', ...rest] = [...command, process.execPath, compiled(file), ...args]
  return start(program, rest, environment)
}

/** Runs a program as the first process of a namespace, with process id 1, like the process of a container. */
export const AS_FIRST = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child']

export const withUmask = (umask: string) => ['sh', '-c', `umask ${umask}; exec "$0" "$@"`]

/**
 * Limits the size of files, in blocks of 512 bytes. It simulates a full disk without root rights: writes beyond the
 * limit fail with EFBIG.
 */
export const withFileLimit = (blocks: number) => ['sh', '-c', `trap '' XFSZ; ulimit -f ${blocks}; exec "$0" "$@"`]

function compiled(file: string): string {
  return isAbsolute(file) ? file : fileURLToPath(import.meta.resolve(`#root/dist/${file}`))
}

function start(command: string, args: string[], environment: Record<string, string>): Child {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'] ?? '', ADMIN_PORT: 'off', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  const said = new Map<string, string>()
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) said.set(line.split(' ')[0] ?? '', line.slice(line.indexOf(' ') + 1))
    if (said.has('ready')) child.emit('ready')
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text))
  const ended = once(child, 'close').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals)
  return { process: child, said, stderr: () => stderr, ended }
}

/**
 * Stops a service without its wait for load balancers, which a second signal ends. It is another signal, because two of
 * one kind can arrive as one.
 */
export function stopService(child: Child): Child['ended'] {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) child.process.kill(signal)
  return child.ended
}

/** Waits for the ready line and returns the base URL. */
export async function ready(child: Child): Promise<string> {
  const signal = AbortSignal.timeout(START_MS_MAX)
  const early = child.ended.then((code) =>
    Promise.reject(new Error(`The process exited with ${code}: ${child.stderr()}`)),
  )
  if (!child.said.has('ready')) await Promise.race([once(child.process, 'ready', { signal }), early])
  early.catch(() => undefined)
  return child.said.get('ready') ?? ''
}
