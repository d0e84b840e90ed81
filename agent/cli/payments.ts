/** The command `payments`: reads the response log beside a running service and changes nothing. */
import { loadConfig, type AddCommand } from './context.ts'

const HELP = `
The identity of a payment is network, asset, payer and nonce, as "payments unfinished" prints it. Signatures and bought
answers are not shown.

Examples:
  irish-company-agent payments unfinished
  irish-company-agent payments show IDENTITY`

export const addPaymentsCommand: AddCommand = (program, context) => {
  const { print, finish } = context
  const payments = program
    .command('payments')
    .description('Inspect payments in the response log')
    .addHelpText('after', HELP)
  payments
    .command('unfinished')
    .description('list the payments whose outcome is not final')
    .action(async () => {
      const { listUnfinishedPayments } = await import('../payments/command.ts')
      const { openLogForReading } = await import('../response-log.ts')
      await using log = await openLogForReading(await loadConfig(context))
      finish(await listUnfinishedPayments(log, print))
    })
  payments
    .command('show')
    .description('show one payment')
    .argument('<identity>', 'the identity that "payments unfinished" prints')
    .action(async (identity: string) => {
      const { showPayment } = await import('../payments/command.ts')
      const { openLogForReading } = await import('../response-log.ts')
      await using log = await openLogForReading(await loadConfig(context))
      finish(await showPayment(log, identity, print))
    })
}
