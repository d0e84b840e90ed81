/** Runs a program with the arguments, the streams and the environment of the process, and sets its exit status. */
import { setTimeout as sleep } from 'node:timers/promises'
import { setPrivateUmask } from '../../store/files/private-files.ts'
import type { CliContext } from './context.ts'

export async function runInProcess(run: (args: string[], context: CliContext) => Promise<number>): Promise<void> {
  setPrivateUmask()
  // If the reader of stdout closes the pipe, the service and a payment in progress continue.
  process.stdout.on('error', () => undefined)
  process.exitCode = await run(process.argv.slice(2), {
    environment: process.env,
    print: (line) => process.stdout.write(`${line}\n`),
    stderr: process.stderr,
    now: () => new Date(),
    fetch,
    sleep: (milliseconds) => sleep(milliseconds),
  })
}
