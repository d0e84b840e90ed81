/** The commands `mcp` and `reconcile-service`: local servers that buy within limits until they are stopped. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Option, type Command } from 'commander'
import type { OpenBuyerOptions } from './library/open-buyer.ts'
import type { Mode } from '../payment/terms.ts'
import { parseAmount, parseHttpUrl, parsePort } from '../command-line/arguments.ts'
import type { AddCommand, CommandContext } from '../command-line/context.ts'
import { readVersion } from '../command-line/version.ts'

const mcpHelp = (program: string) => `
The server speaks the Model Context Protocol over stdin and stdout. Its tools are those of POST /mcp of the service. It
buys each answer over REST, keeps it in the folder, and returns it for an equal call within a day. Each payment is saved
before it is sent, so a call that is repeated after a crash sends the same payment. The limits are in micro-USDC.

Example:
  ${program} mcp --url https://companies.example --key-file buyer.key --folder purchases`

export const addMcpCommand: AddCommand = (program, context) => {
  const command = program.command('mcp').description('Run a local MCP server that buys from a service')
  command.addHelpText('after', mcpHelp(program.name()))
  addLimitedBuyer(command, context, async (options) => {
    const { serveLocally } = await import('./mcp/server.ts')
    serveLocally(options)
  })
}

const PORT_DEFAULT = 4040

const reconcileHelp = (program: string) => `
The service speaks the Reconciliation Service API 0.2 on 127.0.0.1. Each value of a column is one purchase of resolve,
which it keeps in the folder and returns for an equal value within a day. Every program that knows the URL can use it, so
set --max-per-day. The URL is another one after each start. The limits are in micro-USDC.

In OpenRefine: Reconcile, Start reconciling, Add standard service, and the URL that this command prints. OpenRefine sends
up to ten values of the column as soon as the service is chosen.

Example:
  ${program} reconcile-service --url https://companies.example --key-file buyer.key --folder purchases`

export const addReconcileServiceCommand: AddCommand = (program, context) => {
  const command = program.command('reconcile-service').description('Run a local reconciliation service for OpenRefine')
  command
    .option('--port <n>', 'the port on 127.0.0.1', parsePort, PORT_DEFAULT)
    .addHelpText('after', reconcileHelp(program.name()))
  addLimitedBuyer(command, context, async (options) => {
    const { openReconciliationService } = await import('./lists/service.ts')
    const interrupted = context.interrupted()
    const { server, path } = await openReconciliationService({ ...options, print: context.print })
    await once(server.listen(command.opts<{ port: number }>().port, '127.0.0.1'), 'listening')
    context.print(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
    if (!interrupted.aborted) await once(interrupted, 'abort')
    // Purchases in progress end first. Another signal ends the process at once.
    await new Promise((resolve) => server.close(resolve))
  })
}

const AMOUNT_PER_DAY_MAX_DEFAULT = 1_000_000

/** The register changes daily. Within this time an equal request returns the bought answer. */
const ANSWER_AGE_SECONDS_MAX = 86_400

interface LimitedBuyerOptions {
  url: string
  keyFile: string
  folder: string
  mode: Mode
  payTo?: string
  maxAmount?: number
  maxPerDay: number
  rpc?: string
  resetDay?: boolean
}

/** Gives a command these options. `run` gets what `openBuyer` needs, and the version of the program. */
function addLimitedBuyer(
  command: Command,
  context: CommandContext,
  run: (options: OpenBuyerOptions & { version: string }) => void | Promise<void>,
): void {
  command
    .requiredOption('--url <url>', 'the URL of the service', parseHttpUrl)
    .requiredOption('--key-file <file>', 'the private key of the buyer')
    .requiredOption('--folder <folder>', 'the purchases and the spending of each day; a secret')
    .addOption(new Option('--mode <mode>', 'the network to pay on').choices(['testnet', 'mainnet']).default('testnet'))
    .option('--pay-to <address>', 'the receiver of payments; by default the one of the first purchase in the folder')
    .option('--max-amount <n>', 'pay at most this for an answer; by default the highest usual price', parseAmount)
    .option('--max-per-day <n>', 'pay at most this in a UTC day', parseAmount, AMOUNT_PER_DAY_MAX_DEFAULT)
    .option(
      '--rpc <url>',
      'a node of the chain: a payment that it shows as expired no longer counts for the day',
      parseHttpUrl,
    )
    .option('--reset-day', 'begin the spending of this day again, if its files are lost or damaged, and exit')
    .action(async (options: LimitedBuyerOptions) => {
      if (options.resetDay !== true) return run(await toBuyerOptions(context, options))
      const { resetSpending } = await import('./library/buyer.ts')
      await resetSpending(options.folder, context.now())
      context.print('The spending of this day begins again.')
    })
}

async function toBuyerOptions(
  { fetch, sleep, now, note }: CommandContext,
  { url, keyFile, folder, mode, payTo, maxAmount, maxPerDay, rpc }: LimitedBuyerOptions,
) {
  const { readPrivateKey } = await import('./library/private-key.ts')
  const { toBaseUrl } = await import('./library/buyer.ts')
  const { signerOf } = await import('./library/open-signer.ts')
  const { openAuthorizationCheck } = await import('./library/authorization-state.ts')
  const { DEPLOYMENTS } = await import('../payment/terms.ts')
  const { SINGLE_OPERATIONS } = await import('../operation/operations.ts')
  const key = await signerOf(await readPrivateKey(keyFile))
  note(`paying address: ${key.address} on ${DEPLOYMENTS[mode].network}`)
  return {
    baseUrl: toBaseUrl(url),
    mode,
    key,
    folder,
    payTo,
    amountMax: maxAmount ?? Math.max(...SINGLE_OPERATIONS.map(({ prices }) => prices[mode])),
    amountPerDayMax: maxPerDay,
    maxAgeSeconds: ANSWER_AGE_SECONDS_MAX,
    readAuthorization:
      rpc === undefined ? undefined : openAuthorizationCheck(fetch, { url: rpc, asset: DEPLOYMENTS[mode].asset }),
    version: await readVersion(),
    runtime: { fetch, sleep, now },
  }
}
