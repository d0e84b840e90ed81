/** Runs a program with the arguments, the streams and the environment of the process, and sets its exit status. */
import { once, setMaxListeners } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { setPrivateUmask } from '../../store/files/private-files.ts'
import type { CliContext } from './context.ts'

export async function runInProcess(run: (args: string[], context: CliContext) => Promise<number>): Promise<void> {
  if ('bun' in process.versions || 'deno' in process.versions) {
    process.stderr.write('This program needs Node.js 20.19 or newer: run it with node\n')
    process.exit(1)
  }
  setPrivateUmask()
  // If the reader of stdout closes the pipe, the service and a payment in progress continue.
  process.stdout.on('error', () => undefined)
  // The stream writes in order, so the last line is taken after all others, or fails as they did.
  let taken = Promise.resolve()
  const writeBytes = (bytes: string | Uint8Array) => {
    const before = taken
    const write = promisify<typeof bytes, void>((each, done) => {
      process.stdout.write(each, (fault) => done(fault ?? null))
    })
    const written = write(bytes)
    taken = before.then(() => written)
    written.catch(() => undefined)
    taken.catch(() => undefined)
  }
  let isEndedAtOnce = false
  process.exitCode = await run(process.argv.slice(2), {
    environment: process.env,
    print: (line) => writeBytes(`${line}\n`),
    writeBytes,
    stdin: process.stdin,
    flush: () => taken,
    stderr: process.stderr,
    isTerminal: process.stdout.isTTY,
    isErrorTerminal: process.stderr.isTTY,
    now: () => new Date(),
    fetch,
    sleep: (milliseconds) => sleep(milliseconds),
    later: (milliseconds, callback) => {
      const timeout = setTimeout(callback, milliseconds).unref()
      return () => clearTimeout(timeout)
    },
    confirm,
    interrupted,
    runInBackground,
    endAtOnce: () => void (isEndedAtOnce = true),
  })
  if (isEndedAtOnce) process.exit()
}

async function confirm(question: string): Promise<boolean | undefined> {
  if (!process.stdin.isTTY) return undefined
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    // A terminal that disappears closes the interface, and leaves the question without an answer.
    const closed = once(lines, 'close').then(() => undefined)
    const answer = await Promise.race([lines.question(`${question} [y/N] `), closed])
    return answer === undefined ? undefined : /^y(?:es)?$/i.test(answer.trim())
  } finally {
    lines.close()
  }
}

function interrupted(until?: AbortSignal): AbortSignal {
  const controller = new AbortController()
  // Each row of a list that is being bought listens.
  setMaxListeners(0, controller.signal)
  if (until?.aborted) return controller.signal
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const abort = (received: NodeJS.Signals) => {
    // First, so that what hears it can listen for the next signal: without a listener, that one ends the process.
    controller.abort(received)
    ignore()
  }
  const ignore = () => {
    for (const signal of signals) process.off(signal, abort)
  }
  for (const signal of signals) process.on(signal, abort)
  until?.addEventListener('abort', ignore)
  return controller.signal
}

/**
 * Requests take precedence over this process. If memory runs out, Linux kills it and not the service. A system-call
 * filter or a read-only `/proc` can deny both.
 */
async function runInBackground(): Promise<void> {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The priority stays as it is.
  }
  await writeFile('/proc/self/oom_score_adj', '1000').catch(() => undefined)
  // On a full disk LMDB rejects promises that no code holds (`awaitWrite`). The command gets the failed write itself.
  process.on('unhandledRejection', () => undefined)
  if (!process.connected) return
  // The service has started this process, and ends it. A terminal or a supervisor signals the whole group.
  process.on('disconnect', () => process.exit())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
  process.channel?.unref()
}
