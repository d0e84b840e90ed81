/** The command `mcp`: a local MCP server for desktop clients. It writes nothing but messages to stdout. */
import { readFile } from 'node:fs/promises'
import { Option } from 'commander'
import type { BuyerOptions } from '../client/buyer.ts'
import type { Mode } from '../payment/terms.ts'
import { parseAmount, parseHttpUrl } from './arguments.ts'
import type { AddCommand } from './context.ts'

const helpOf = (program: string) => `
The server speaks the Model Context Protocol over stdin and stdout. Its tools are those of POST /mcp of the service. It
buys each answer over REST, keeps it in the folder, and returns it for an equal call within a day. Each payment is saved
before it is sent, so a call that is repeated after a crash sends the same payment. The limits are in micro-USDC.

Example:
  ${program} mcp --url https://companies.example --key-file buyer.key --folder purchases`

const AMOUNT_PER_DAY_MAX_DEFAULT = 1_000_000

interface McpOptions {
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

export const addMcpCommand: AddCommand = (program, { fetch, sleep, now, print }) => {
  program
    .command('mcp')
    .description('Run a local MCP server that buys from a service')
    .requiredOption('--url <url>', 'the URL of the service', parseHttpUrl)
    .requiredOption('--key-file <file>', 'the private key of the buyer')
    .requiredOption('--folder <folder>', 'the purchases and the spending of each day; a secret')
    .addOption(new Option('--mode <mode>', 'the network to pay on').choices(['testnet', 'mainnet']).default('testnet'))
    .option('--pay-to <address>', 'the receiver of payments; by default the one of the first purchase in the folder')
    .option('--max-amount <n>', 'pay at most this for a call; by default the highest usual price', parseAmount)
    .option('--max-per-day <n>', 'pay at most this in a UTC day', parseAmount, AMOUNT_PER_DAY_MAX_DEFAULT)
    .option(
      '--rpc <url>',
      'a node of the chain: a payment that it shows as expired no longer counts for the day',
      parseHttpUrl,
    )
    .option('--reset-day', 'begin the spending of this day again, if its files are lost or damaged, and exit')
    .addHelpText('after', helpOf(program.name()))
    .action(async ({ url, keyFile, folder, mode, payTo, maxAmount, maxPerDay, rpc, resetDay }: McpOptions) => {
      if (resetDay === true) {
        const { resetSpending } = await import('../client/buyer.ts')
        await resetSpending(folder, now())
        return print('The spending of this day begins again.')
      }
      const { readPrivateKey } = await import('../client/private-key.ts')
      const { DEPLOYMENTS } = await import('../payment/terms.ts')
      const { serveLocally } = await import('../mcp-stdio/server.ts')
      const manifest = await readFile(new URL(import.meta.resolve('#root/package.json')), 'utf8')
      serveLocally({
        // The URL of the remote server is the one that directories of MCP servers list.
        baseUrl: url.replace(/\/(?:mcp\/?)?$/, ''),
        mode,
        key: await readPrivateKey(keyFile),
        folder,
        payTo,
        amountMax: maxAmount ?? Math.max(...Object.values(DEPLOYMENTS[mode].prices)),
        amountPerDayMax: maxPerDay,
        isUnusable: rpc === undefined ? undefined : await checkOnChain(rpc, { mode, now }),
        version: (JSON.parse(manifest) as { version: string }).version,
        runtime: { fetch, sleep, now },
      })
    })
}

/** Whether the chain shows in a final block that an authorization was not used, and that it has expired. */
async function checkOnChain(
  url: string,
  { mode, now }: { mode: Mode; now: () => Date },
): Promise<BuyerOptions['isUnusable']> {
  const { DEPLOYMENTS } = await import('../payment/terms.ts')
  const { openChain } = await import('../chain/chain.ts')
  const { network, asset } = DEPLOYMENTS[mode]
  const chain = openChain({ urls: [url], chainId: Number(network.split(':')[1]), now })
  return async ({ from: payer, nonce, validBefore }) => {
    const { payments, final } = await chain.observe([{ asset, payer, nonce }], { withFinal: true })
    return payments[0]?.isNonceUsed === false && final !== undefined && final.time >= BigInt(validBefore)
  }
}
