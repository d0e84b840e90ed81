/** Ends a test process whose main thread stands still in native code, which no time limit of mocha sees. */
import { Worker } from 'node:worker_threads'

const STILL_MS_MAX = 600_000
const BEAT_MS = 5_000

/** Runs in a thread of its own. */
const WATCH = `
const { workerData: beats } = require('node:worker_threads')
let seen = -1
setInterval(() => {
  if (Atomics.load(beats, 0) === seen) process.kill(process.pid, 'SIGKILL')
  seen = Atomics.load(beats, 0)
}, ${STILL_MS_MAX})`

export function endIfStandingStill(): void {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  setInterval(() => void Atomics.add(beats, 0, 1), BEAT_MS).unref()
  new Worker(WATCH, { eval: true, workerData: beats }).unref()
}
