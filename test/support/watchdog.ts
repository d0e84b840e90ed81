/**
 * Names the test in which a test process is killed or blocked: the time limits of Mocha need the event loop. Each
 * process keeps a file with the test that runs. A process whose event loop is blocked is ended.
 */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

const BEAT_MS = 1_000
const BLOCKED_MS_MAX = 180_000
/** Of one run, by its first process, so that two runs can use one checkout. The others are its child processes. */
export const RUN = String(process.send ? process.ppid : process.pid)
const FOLDER = fileURLToPath(new URL(`../../running-tests/${RUN}`, import.meta.url))
const FILE = isMainThread ? join(FOLDER, String(process.pid)) : (workerData as string)

/** Returns the function that takes the title of the test that begins. */
export function startWatchdog(): (title: string) => void {
  mkdirSync(FOLDER, { recursive: true })
  const worker = new Worker(new URL(import.meta.url), { workerData: FILE })
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

function end(): void {
  appendFileSync(FILE, `, where its event loop is blocked for ${BLOCKED_MS_MAX} ms`)
  process.kill(process.pid, 'SIGKILL')
}

if (!isMainThread) {
  let timer = setTimeout(end, BLOCKED_MS_MAX)
  parentPort?.on('message', () => {
    clearTimeout(timer)
    timer = setTimeout(end, BLOCKED_MS_MAX)
  })
}
