/** The command `check`: tests a configuration without selling. */
import type { AddCommand } from '../../agent/command-line/context.ts'
import { loadConfig } from './configuration.ts'

const HELP = `
Prints a line for each check, with its result and what to do. The command makes no change and no purchase.
Run it before the start, and again while the service runs, so that the public URL is checked too.

Example:
  irish-company-agent check`

const LABELS = { passed: 'ok     ', warning: 'WARNING', failed: 'FAILED ' } as const
const NAME_CHARACTERS = 14

export const addCheckCommand: AddCommand = (program, context) => {
  program
    .command('check')
    .description('Test the configuration and the services that it names')
    .addHelpText('after', HELP)
    .action(async () => {
      const config = await loadConfig(context)
      const { runChecks } = await import('../check/run.ts')
      let isReady = true
      for await (const { check, kind, detail } of runChecks(context, config)) {
        context.print(`${LABELS[kind]} ${check.padEnd(NAME_CHARACTERS)} ${detail}`)
        if (kind === 'failed') isReady = false
      }
      context.finish(isReady)
    })
}
