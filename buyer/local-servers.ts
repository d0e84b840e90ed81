/** The commands `mcp` and `reconcile-service`: local servers that buy within limits until they are stopped. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Option, type Command } from 'commander'
import { ADDRESS_PATTERN } from '../agent/payment/accounts.ts'
import { DEPLOYMENTS } from '../agent/payment/terms.ts'
import { matching, parseHttpUrl } from '../agent/command-line/arguments.ts'
import { showUsdc } from './amounts.ts'
import { parseAmount, parsePort } from './arguments.ts'
import { readVersion } from '../agent/command-line/version.ts'
import { signerOf } from './library/signer.ts'
import { readPrivateKey } from './library/private-key.ts'
import { highestPrice } from './library/quote.ts'
import { modeOption, parseBaseUrl, readTarget, type Client } from './target.ts'

const MCP_HELP = `
The server speaks the Model Context Protocol over stdin and stdout. Its tools are those of POST /mcp of the service. It
buys each answer over REST, keeps it in the folder, and returns it for an equal call within a day. Each payment is saved
before it is sent, so a call that is repeated after a crash sends the same payment.`

const RECONCILE_HELP = `
The service speaks the Reconciliation Service API 0.2 on 127.0.0.1. Each value of a column is one purchase of resolve,
which it keeps in the folder and returns for an equal value within a day. Every program that knows the URL can use it, so
set --max-per-day. The URL is another one after each start.

In OpenRefine: Reconcile, Start reconciling, Add standard service, and the URL that this command prints. OpenRefine sends
up to ten values of the column as soon as the service is chosen.`

const PORT_DEFAULT = 4040
const AMOUNT_PER_DAY_MAX_DEFAULT = 1_000_000

/** The register changes daily. Within this time an equal request returns the bought answer. */
const ANSWER_AGE_SECONDS_MAX = 86_400

const parseAddress = matching(ADDRESS_PATTERN, 'It must be 0x and 40 hex digits.')

const addLimits = (command: Command) =>
  command
    .option('--url <url>', 'the URL of the service; required', parseBaseUrl)
    .option('--key-file <file>', 'the private key of the buyer; required')
    .requiredOption('--folder <folder>', 'the purchases and the spending of each day; a secret')
    .addOption(modeOption())
    .addOption(
      new Option('--pay-to <address>', 'the receiver of payments')
        .argParser(parseAddress)
        .default('published', 'the one of the first purchase in the folder'),
    )
    .option('--max-amount <usdc>', 'pay at most this for an answer; by default the highest usual price', parseAmount)
    .addOption(
      new Option('--max-per-day <usdc>', 'pay at most this in a UTC day')
        .argParser(parseAmount)
        .default(AMOUNT_PER_DAY_MAX_DEFAULT, showUsdc(AMOUNT_PER_DAY_MAX_DEFAULT)),
    )
    .option('--rpc <url>', 'a node of the chain, which shows whether a refused payment was charged', parseHttpUrl)

export function addLocalServers(program: Command, client: Client): void {
  addLimits(program.command('mcp').description('Run a local MCP server that buys from a service'))
    .addHelpText('after', MCP_HELP)
    .action(async (_, command: Command) => {
      const { serveLocally } = await import('./mcp/server.ts')
      serveLocally(await toBuyerOptions(command, client))
    })
  addLimits(
    program
      .command('reconcile-service')
      .description('Run a local reconciliation service for OpenRefine')
      .option('--port <n>', 'the port on 127.0.0.1', parsePort, PORT_DEFAULT),
  )
    .addHelpText('after', RECONCILE_HELP)
    .action((_, command: Command) => serveReconciliation(command, client))
}

async function serveReconciliation(command: Command, client: Client): Promise<void> {
  const { context } = client
  const { openReconciliationService } = await import('./lists/service.ts')
  const interrupted = context.interrupted()
  const { server, path } = openReconciliationService({
    ...(await toBuyerOptions(command, client)),
    print: context.print,
  })
  await once(server.listen(command.opts<{ port: number }>().port, '127.0.0.1'), 'listening')
  context.print(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
  if (!interrupted.aborted) await once(interrupted, 'abort')
  // Purchases in progress end first. Another signal ends the process at once.
  await new Promise((resolve) => server.close(resolve))
}

async function toBuyerOptions(command: Command, client: Client) {
  const { fetch, sleep, now, note } = client.context
  const target = await readTarget(command, client, 'url', 'keyFile')
  const { baseUrl, keyFile, mode, amountMax, amountPerDayMax, readAuthorization } = target
  const { folder, payTo } = command.opts<{ folder: string; payTo: string }>()
  const key = await signerOf(await readPrivateKey(keyFile))
  note(`paying address: ${key.address} on ${DEPLOYMENTS[mode].network}`)
  return {
    url: baseUrl,
    mode,
    key,
    folder,
    expected: {
      payTo,
      amountMax: amountMax ?? highestPrice(mode),
      amountPerDayMax,
    },
    maxAgeSeconds: ANSWER_AGE_SECONDS_MAX,
    readAuthorization,
    version: await readVersion(),
    runtime: { fetch, sleep, now },
  }
}
