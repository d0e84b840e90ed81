/**
 * The command `serve`, in this process. Sends the URL of the service to the parent process instead of writing it to
 * stdout. `TEST_ADDRESS_BUDGET` replaces the budget of a client address.
 */
import { serve } from '../../operator/cli/serve.ts'
import { loadConfig } from '../../operator/cli/configuration.ts'
import { runInProcess } from '../../agent/command-line/run-in-process.ts'
import { readArguments } from '../support/arguments.ts'

readArguments('')

const sendHolds = measureHolds()
process.on('message', (message) => (message === 'heap' ? sendHeap() : sendHolds()))
process.channel?.unref()

await runInProcess(async (_args, context) => {
  const config = await loadConfig(context)
  const addressBudget = Number(context.environment['TEST_ADDRESS_BUDGET'] ?? config.addressBudget)
  const finish = () => undefined
  const note = () => undefined
  await serve({ ...context, print: sendUrl, note, finish }, { config: { ...config, addressBudget }, allowed: {} })
  return 0
})

/** After a collection, for which the program needs the option `--expose-gc`. */
function sendHeap(): void {
  globalThis.gc?.()
  process.send?.(process.memoryUsage().heapUsed)
}

function sendUrl(line: string): void {
  const [, url] = /^ready (\S+)$/.exec(line) ?? []
  if (url !== undefined) process.send?.(url)
}

/**
 * From the first message on, measures the CPU time between timers of one millisecond. Answers each message with the
 * most since the last one, in milliseconds. Elapsed time would also pass while the machine runs other processes.
 */
function measureHolds(): () => void {
  const cpuMs = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  let most = 0
  let before: number | undefined
  const measure = () => {
    const now = cpuMs()
    most = Math.max(most, now - (before ?? now))
    before = now
  }
  return () => {
    if (before === undefined) setInterval(measure, 1).unref()
    measure()
    process.send?.(most)
    most = 0
  }
}
