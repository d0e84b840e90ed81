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

  /** The transaction of each transfer from one address to another, from a block on. */
  async function transactions(from: string, to: string, fromBlock = 0n): Promise<Hex[]> {
    const args = { from: from as Hex, to: to as Hex }
    const event = { address: asset, abi: TOKEN, eventName: 'Transfer', args } as const
    const logs = await client.getContractEvents({ ...event, fromBlock })
    return logs.map(({ transactionHash }) => transactionHash)
  }

  return {
    /** Micro-USDC. */
    balanceOf: (owner: string) =>
      client.readContract({ address: asset, abi: TOKEN, functionName: 'balanceOf', args: [owner as Hex] }),
    transactions,
    /** How many transfers have gone from one address to another. */
    transfers: async (from: string, to: string) => (await transactions(from, to)).length,
  }
}
