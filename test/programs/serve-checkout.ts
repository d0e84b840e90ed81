/**
 * The command `serve` of a built checkout, in this process: `node serve-checkout.js FOLDER`. Sends the URL of the service to
 * the parent process instead of writing it to stdout.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { CliContext } from '../../agent/cli/context.ts'

const [folder = ''] = process.argv.slice(2)
const { runCli } = (await import(pathToFileURL(join(folder, 'dist/agent/cli/run.js')).href)) as {
  runCli: (args: readonly string[], context: CliContext) => Promise<number>
}
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
})
