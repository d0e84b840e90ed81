/** The command `client watch`: what changed in the companies of a CSV file since its last run. */
import type { Command } from 'commander'
import type { Mode } from '../payment/terms.ts'
import { parseAmount } from '../command-line/arguments.ts'
import type { CommandContext } from '../command-line/context.ts'

const HELP = `
The first run buys the record of each company and keeps it in STATE. Each later run asks for the id of the snapshot, which
is free. It buys nothing if it is that of the last run; otherwise it buys the changes since then, 100 companies for a
payment, and the records that changed. The exit status is 3 if something changed, and 0 if nothing did.

After Ctrl-C, a failure or a crash the same command continues, and pays nothing twice. STATE and the folder STATE.purchases
belong together.

Example:
  irish-company-agent client watch suppliers.csv --column Number --state watch.json --report watch.html --max-total 2000000`

const STATUS_CHANGED = 3

type WatchOptions = { column: string; state: string; report?: string; maxTotal: number; yes?: boolean }

type ReadTarget = (command: Command) => Promise<{ baseUrl: string; keyFile: string; mode: Mode; a2a: boolean }>

export function addWatchCommand(client: Command, context: CommandContext, readTarget: ReadTarget): void {
  client
    .command('watch')
    .description('buy what changed in the companies of a CSV file')
    .argument('<file>', 'a CSV file in UTF-8 or Windows-1252')
    .requiredOption('--column <column>', 'the column of the company numbers: its header, or its number from 1')
    .requiredOption('--state <file>', 'the file that keeps the records from one run to the next')
    .option('--report <file>', 'the HTML file to write')
    .requiredOption('--max-total <n>', 'pay at most this in a run, in micro-USDC', parseAmount)
    .option('--yes', 'pay without a question')
    .addHelpText('after', HELP)
    .action(async (file: string, options: WatchOptions, command: Command) => {
      const { baseUrl, mode, keyFile, a2a } = await readTarget(command)
      if (a2a) command.error("error: option '--a2a' cannot be used with watch")
      const { watch } = await import('./watch/watch.ts')
      const { readPrivateKey } = await import('./library/private-key.ts')
      const { column, state: stateFile, report: reportFile, maxTotal: totalMax, yes: isConfirmed = false } = options
      const key = await readPrivateKey(keyFile)
      try {
        const target = { baseUrl, mode, key, file, column, stateFile, reportFile, totalMax, isConfirmed }
        context.finish((await watch(context, target)) ? STATUS_CHANGED : true)
      } catch (cause) {
        const { finishFailed } = await import('./finish-failed.ts')
        finishFailed(context, cause)
      }
    })
}
