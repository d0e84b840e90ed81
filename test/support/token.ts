/** Reads the test token on a chain: balances and transfers, the judges of what was charged. */
import { createPublicClient, http, parseAbi, type Hex } from 'viem'
import { DEPLOYMENTS } from '../../agent/payments/terms.ts'

const { asset } = DEPLOYMENTS.testnet

const TOKEN = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

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
