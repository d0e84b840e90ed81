/** The commands `mcp` and `reconcile-service`: local servers that buy within limits until they are stopped. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { ADDRESS_PATTERN } from '../payment/accounts.ts'
import { DEPLOYMENTS } from '../payment/terms.ts'
import { matching, parseAmount, parseHttpUrl, parsePort } from '../command-line/arguments.ts'
import type { CommandResult } from '../command-line/context.ts'
import { readVersion } from '../command-line/version.ts'
import { signerOf } from './library/signer.ts'
import { readPrivateKey } from './library/private-key.ts'
import { toBaseUrl } from './library/purchase-request.ts'
import { highestPrice } from './library/quote.ts'
import { modeOption, option, required, type Call, type Definition } from './definition.ts'

const MCP_HELP = `
The server speaks the Model Context Protocol over stdin and stdout. Its tools are those of POST /mcp of the service. It
buys each answer over REST, keeps it in the folder, and returns it for an equal call within a day. Each payment is saved
before it is sent, so a call that is repeated after a crash sends the same payment. The limits are in micro-USDC.`

const RECONCILE_HELP = `
The service speaks the Reconciliation Service API 0.2 on 127.0.0.1. Each value of a column is one purchase of resolve,
which it keeps in the folder and returns for an equal value within a day. Every program that knows the URL can use it, so
set --max-per-day. The URL is another one after each start. The limits are in micro-USDC.

In OpenRefine: Reconcile, Start reconciling, Add standard service, and the URL that this command prints. OpenRefine sends
up to ten values of the column as soon as the service is chosen.`

const PORT_DEFAULT = 4040
const AMOUNT_PER_DAY_MAX_DEFAULT = 1_000_000

/** The register changes daily. Within this time an equal request returns the bought answer. */
const ANSWER_AGE_SECONDS_MAX = 86_400

const parseAddress = matching(ADDRESS_PATTERN, 'It must be 0x and 40 hex digits.')

const limitOptions = () => [
  option('--url <url>', 'the URL of the service; required', toBaseUrl),
  option('--key-file <file>', 'the private key of the buyer; required'),
  required(option('--folder <folder>', 'the purchases and the spending of each day; a secret')),
  modeOption(),
  option('--pay-to <address>', 'the receiver of payments', parseAddress).default(
    'published',
    'the one of the first purchase in the folder',
  ),
  option('--max-amount <n>', 'pay at most this for an answer; by default the highest usual price', parseAmount),
  option('--max-per-day <n>', 'pay at most this in a UTC day', parseAmount).default(AMOUNT_PER_DAY_MAX_DEFAULT),
  option('--rpc <url>', 'a node of the chain, which shows whether a refused payment was charged', parseHttpUrl),
  option('--reset-day', 'begin the spending of this day again, if its files are lost or damaged, and exit'),
]

export const LOCAL_SERVERS: readonly Definition[] = [
  {
    name: 'mcp',
    description: 'Run a local MCP server that buys from a service',
    options: limitOptions(),
    help: MCP_HELP,
    run: (call) =>
      resetOrRun(call, async () => {
        const { serveLocally } = await import('./mcp/server.ts')
        serveLocally(await toBuyerOptions(call))
      }),
  },
  {
    name: 'reconcile-service',
    description: 'Run a local reconciliation service for OpenRefine',
    options: [option('--port <n>', 'the port on 127.0.0.1', parsePort).default(PORT_DEFAULT), ...limitOptions()],
    help: RECONCILE_HELP,
    run: (call) => resetOrRun(call, () => serveReconciliation(call)),
  },
]

async function serveReconciliation(call: Call): Promise<void> {
  const { context, options } = call
  const { openReconciliationService } = await import('./lists/service.ts')
  const interrupted = context.interrupted()
  const { server, path } = openReconciliationService({ ...(await toBuyerOptions(call)), print: context.print })
  await once(server.listen(Number(options['port']), '127.0.0.1'), 'listening')
  context.print(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
  if (!interrupted.aborted) await once(interrupted, 'abort')
  // Purchases in progress end first. Another signal ends the process at once.
  await new Promise((resolve) => server.close(resolve))
}

async function resetOrRun({ context, options }: Call, run: () => Promise<void>): Promise<CommandResult | void> {
  if (options['resetDay'] !== true) return run()
  const { resetSpending } = await import('./library/buyer.ts')
  await resetSpending(String(options['folder']), context.now())
  context.print('The spending of this day begins again.')
}

async function toBuyerOptions({ context: { fetch, sleep, now, note }, options, target }: Call) {
  const { baseUrl, keyFile, mode, amountMax, readAuthorization } = await target('url', 'keyFile')
  const key = await signerOf(await readPrivateKey(keyFile))
  note(`paying address: ${key.address} on ${DEPLOYMENTS[mode].network}`)
  return {
    url: baseUrl,
    mode,
    key,
    folder: String(options['folder']),
    expected: {
      payTo: String(options['payTo']),
      amountMax: amountMax ?? highestPrice(mode),
      amountPerDayMax: Number(options['maxPerDay']),
    },
    maxAgeSeconds: ANSWER_AGE_SECONDS_MAX,
    readAuthorization,
    version: await readVersion(),
    runtime: { fetch, sleep, now },
  }
}
