/**
 * The service with the configured remote services, for `bench soak`: SIGUSR2 makes the next daily retrieval due, and
 * the parent process can ask for metrics and memory.
 */
import { readConfig } from '../../agent/service/config.ts'
import { openExternals } from '../../agent/service/externals.ts'
import { logEvents, openLog } from '../../agent/service/log.ts'
import { LogOutput } from '../../agent/service/log-output.ts'
import { startService } from '../../agent/service/service.ts'
import type { Timer } from '../../store/base/runtime.ts'
import { SOLD } from '../support/operations.ts'

/** Only the schedule of retrievals uses timers of one hour. A day consists of several of them. */
const HOUR_MS = 60 * 60 * 1000

let waiting: (() => void) | undefined
const timer: Timer = (callback, milliseconds) => {
  if (milliseconds !== HOUR_MS) {
    const timeout = setTimeout(callback, milliseconds).unref()
    return () => clearTimeout(timeout)
  }
  waiting = callback
  return () => (waiting = undefined)
}

/** Fires the hourly timers until the schedule starts a retrieval. */
function passOneDay(): void {
  while (waiting) {
    const callback = waiting
    waiting = undefined
    callback()
  }
}

const config = readConfig(process.env)
const { report } = logEvents(openLog(config.logLevel, new LogOutput()))
const { externals } = await openExternals({
  config,
  ownPid: process.pid,
  now: () => new Date(),
  report,
  log: () => undefined,
})
const service = await startService({
  ...SOLD,
  config,
  version: '0.1.0',
  externals,
  now: () => new Date(),
  clock: () => performance.now(),
  random: () => 0.5,
  timer,
  report,
})
// A parent process that forked this one also gets the local URL as a message, and on request the memory use after a
// collection and the metrics.
process.on('message', (message: { metrics?: boolean }) => {
  if (message.metrics) return void sendMetrics()
  globalThis.gc?.()
  process.send?.(process.memoryUsage())
})
async function sendMetrics(): Promise<void> {
  const response = await fetch(`${service.adminUrl}/metrics`)
  process.send?.(await response.text())
}
process.channel?.unref()
process.send?.(`http://127.0.0.1:${service.port}`)
process.on('SIGUSR2', passOneDay)
process.on('SIGTERM', () => void service.stop())
