/** The command `mcp`: a local MCP server for desktop clients. It writes nothing but messages to stdout. */
import { readFile } from 'node:fs/promises'
import { Option } from 'commander'
import type { Mode } from '../payments/terms.ts'
import { parseAmount, parseHttpUrl } from './arguments.ts'
import type { AddCommand } from './context.ts'

const HELP = `
The server speaks the Model Context Protocol over stdin and stdout. Its tools are those of POST /mcp of the service. It
buys each answer over REST, keeps it in the folder, and returns it for an equal call within a day. Each payment is saved
before it is sent, so a call that is repeated after a crash sends the same payment. The limits are in micro-USDC.

Example:
  irish-company-agent mcp --url https://companies.example --key-file buyer.key --folder purchases`

const AMOUNT_PER_DAY_MAX_DEFAULT = 1_000_000

interface McpOptions {
  url: string
  keyFile: string
  folder: string
  mode: Mode
  payTo?: string
  maxAmount?: number
  maxPerDay: number
}

export const addMcpCommand: AddCommand = (program, { fetch, sleep, now }) => {
  program
    .command('mcp')
    .description('Run a local MCP server that buys from a service')
    .requiredOption('--url <url>', 'the URL of the service', parseHttpUrl)
    .requiredOption('--key-file <file>', 'the private key of the buyer')
    .requiredOption('--folder <folder>', 'the purchases and the spending of each day; a secret')
    .addOption(new Option('--mode <mode>', 'the network to pay on').choices(['testnet', 'mainnet']).default('testnet'))
    .option('--pay-to <address>', 'the receiver of payments; by default the one that the service publishes')
    .option('--max-amount <n>', 'pay at most this for a call; by default the highest usual price', parseAmount)
    .option('--max-per-day <n>', 'pay at most this in a UTC day', parseAmount, AMOUNT_PER_DAY_MAX_DEFAULT)
    .addHelpText('after', HELP)
    .action(async ({ url, keyFile, folder, mode, payTo, maxAmount, maxPerDay }: McpOptions) => {
      const { readPrivateKey } = await import('../client/private-key.ts')
      const { DEPLOYMENTS } = await import('../payments/terms.ts')
      const { serveLocally } = await import('../mcp-stdio/server.ts')
      const manifest = await readFile(new URL(import.meta.resolve('#root/package.json')), 'utf8')
      serveLocally({
        baseUrl: url.replace(/\/$/, ''),
        mode,
        key: await readPrivateKey(keyFile),
        folder,
        payTo,
        amountMax: maxAmount ?? Math.max(...Object.values(DEPLOYMENTS[mode].prices)),
        amountPerDayMax: maxPerDay,
        version: (JSON.parse(manifest) as { version: string }).version,
        runtime: { fetch, sleep, now },
      })
    })
}
