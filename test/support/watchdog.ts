/**
 * Ends a test process whose event loop is blocked, and prints the test: the time limits of Mocha need the event loop.
 */
import { writeSync } from 'node:fs'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

const BEAT_MS = 1_000
const BLOCKED_MS_MAX = 180_000

/** Returns the function that takes the title of the test that begins. */
export function startWatchdog(): (title: string) => void {
  const worker = new Worker(new URL(import.meta.url))
  worker.unref()
  let title = 'before the first test'
  setInterval(() => worker.postMessage(title), BEAT_MS).unref()
  return (begins) => {
    title = begins
    worker.postMessage(title)
  }
}

if (!isMainThread) {
  let title = ''
  const end = () => {
    writeSync(2, `The event loop is blocked for ${BLOCKED_MS_MAX} ms in: ${title}\n`)
    process.kill(process.pid, 'SIGKILL')
  }
  let timer = setTimeout(end, BLOCKED_MS_MAX)
  parentPort?.on('message', (begins: string) => {
    title = begins
    clearTimeout(timer)
    timer = setTimeout(end, BLOCKED_MS_MAX)
  })
}
