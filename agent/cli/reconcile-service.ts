/** The command `reconcile-service`: a local reconciliation service for OpenRefine. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { AddCommand } from './context.ts'
import { parsePort } from './arguments.ts'
import { addLimitedBuyer } from './limited-buyer.ts'

const PORT_DEFAULT = 4040

const helpOf = (program: string) => `
The service speaks the Reconciliation Service API 0.2 on 127.0.0.1. Each value of a column is one purchase of resolve,
which it keeps in the folder and returns for an equal value within a day. Every program of this machine can use it, so set
--max-per-day. The limits are in micro-USDC.

In OpenRefine: Reconcile, Start reconciling, Add standard service, and the URL that this command prints. OpenRefine sends
up to ten values of the column as soon as the service is chosen.

Example:
  ${program} reconcile-service --url https://companies.example --key-file buyer.key --folder purchases`

export const addReconcileServiceCommand: AddCommand = (program, context) => {
  const command = program.command('reconcile-service').description('Run a local reconciliation service for OpenRefine')
  command
    .option('--port <n>', 'the port on 127.0.0.1', parsePort, PORT_DEFAULT)
    .addHelpText('after', helpOf(program.name()))
  addLimitedBuyer(command, context, async (options) => {
    const { openReconciliationService } = await import('../reconcile/service.ts')
    const interrupted = context.interrupted()
    const server = await openReconciliationService({ ...options, print: context.print })
    await once(server.listen(command.opts<{ port: number }>().port, '127.0.0.1'), 'listening')
    context.print(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    if (!interrupted.aborted) await once(interrupted, 'abort')
    // Purchases in progress end first. Another signal ends the process at once.
    await new Promise((resolve) => server.close(resolve))
  })
}
