/**
 * Names the test in which a test process is killed or blocked: the time limits of Mocha need the event loop. Each
 * process keeps a file with the test that runs. A process whose event loop is blocked is ended, with its stack there.
 */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

const BEAT_MS = 1_000
const BLOCKED_MS_MAX = 180_000
/** Code of a library that is not JavaScript never pauses. */
const PAUSE_MS_MAX = 5_000
const CALLS_MAX = 8
const FOLDER = fileURLToPath(new URL('../../running-tests', import.meta.url))
const FILE = join(FOLDER, String(process.pid))

/** Returns the function that takes the title of the test that begins. */
export function startWatchdog(): (title: string) => void {
  mkdirSync(FOLDER, { recursive: true })
  const worker = new Worker(new URL(import.meta.url))
  worker.unref()
  setInterval(() => worker.postMessage(''), BEAT_MS).unref()
  return (title) => {
    writeFileSync(FILE, title)
    worker.postMessage('')
  }
}

/** Call it at the end of a test file. */
export const endTestFile = () => rmSync(FILE, { force: true })

/** What the processes that ended in a test have written. */
export function describeKilled(): string[] {
  const lines = readdirSync(FOLDER).map(
    (name) => `A test process ended in: ${readFileSync(join(FOLDER, name), 'utf8')}`,
  )
  rmSync(FOLDER, { recursive: true })
  return lines
}

/** The function calls of the main thread, or the number and arguments of its system call outside JavaScript. */
async function stackOfMainThread(): Promise<string> {
  const session = new Session()
  session.connectToMainThread()
  const urls = new Map<string, string>()
  session.on('Debugger.scriptParsed', ({ params }) => void urls.set(params.scriptId, params.url))
  const paused = new Promise<string>((resolve) =>
    session.once('Debugger.paused', ({ params }) => {
      const calls = params.callFrames.slice(0, CALLS_MAX).map(({ functionName, location }) => {
        return `\n  ${functionName} ${urls.get(location.scriptId)}:${location.lineNumber + 1}`
      })
      resolve(calls.join(''))
    }),
  )
  session.post('Debugger.enable')
  session.post('Debugger.pause')
  return Promise.race([paused, sleep(PAUSE_MS_MAX).then(() => `\n  ${readFileSync('/proc/self/syscall', 'utf8')}`)])
}

async function end(): Promise<void> {
  appendFileSync(FILE, `, where its event loop is blocked for ${BLOCKED_MS_MAX} ms`)
  appendFileSync(FILE, await stackOfMainThread().catch(String))
  process.kill(process.pid, 'SIGKILL')
}

if (!isMainThread) {
  let timer = setTimeout(() => void end(), BLOCKED_MS_MAX)
  parentPort?.on('message', () => {
    clearTimeout(timer)
    timer = setTimeout(() => void end(), BLOCKED_MS_MAX)
  })
}
