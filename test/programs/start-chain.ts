/** Starts the sandbox's chain in a directory, prints that it is ready, and runs until it is killed. */
import { prepareChain } from '../../agent/sandbox/prepare-chain.ts'
import { openAccounts } from '../../agent/sandbox/accounts.ts'
import { startChain } from '../../agent/sandbox/chain.ts'
import { readArguments } from '../support/arguments.ts'

const [directory = ''] = readArguments('DIRECTORY')
const { buyer, relayer } = await openAccounts({ directory })
const chain = await startChain({ directory, chainId: 84_532 })
await prepareChain({ url: chain.url, buyer: buyer.address, relayer: relayer.address })
process.stdout.write(`${chain.url}\n`)
setInterval(() => undefined, 60_000)
