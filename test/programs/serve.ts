/** The command `serve`, in this process. Sends the URL of the service to the parent process instead of writing it to stdout. */
import { setTimeout as sleep } from 'node:timers/promises'
import { runCli } from '../../agent/cli/run.ts'

process.exitCode = await runCli(['serve'], {
  environment: process.env,
  print(line) {
    const [, url] = /^ready (\S+)$/.exec(line) ?? []
    if (url !== undefined) process.send?.(url)
  },
  stderr: process.stderr,
  now: () => new Date(),
  fetch,
  sleep: (milliseconds) => sleep(milliseconds),
  confirm: async () => false,
  interrupted: () => new AbortController().signal,
})
