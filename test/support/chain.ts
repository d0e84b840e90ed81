/** One embedded chain for the whole test run: started when the first test asks for it, ended after the last. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPublicClient, http, parseAbi, type Hex } from 'viem'
import { startChain, type LocalChain } from '../../agent/sandbox/chain.ts'
import { DEPLOYMENTS } from '../../agent/payments/terms.ts'

const { asset, chainId } = DEPLOYMENTS.testnet

const TOKEN = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

let started: Promise<{ chain: LocalChain; directory: string }> | undefined

export async function testChainUrl(): Promise<string> {
  started ??= start()
  return (await started).chain.url
}

async function start() {
  const directory = await mkdtemp(join(tmpdir(), 'chain-'))
  return { chain: await startChain({ directory, chainId }), directory }
}

after(async () => {
  if (!started) return
  const { chain, directory } = await started
  await chain.stop()
  await rm(directory, { recursive: true })
})

/** Reads the test token on a chain. */
export function tokenOn(url: string) {
  const client = createPublicClient({ transport: http(url), cacheTime: 0 })
  return {
    /** Micro-USDC. */
    balanceOf: (owner: string) =>
      client.readContract({ address: asset, abi: TOKEN, functionName: 'balanceOf', args: [owner as Hex] }),
    /** How many transfers have gone from one address to another. */
    async transfers(from: string, to: string): Promise<number> {
      const args = { from: from as Hex, to: to as Hex }
      const logs = await client.getContractEvents({
        address: asset,
        abi: TOKEN,
        eventName: 'Transfer',
        args,
        fromBlock: 0n,
      })
      return logs.length
    },
  }
}
