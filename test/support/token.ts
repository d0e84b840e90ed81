/** Reads balances and transfers of the test token. */
import { createPublicClient, http, parseAbi, type Hex } from 'viem'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'

const { asset } = DEPLOYMENTS.testnet

const TOKEN = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

export function tokenOn(url: string) {
  const client = createPublicClient({ transport: http(url), cacheTime: 0 })

  /** The transactions of all transfers to an address since a block, by default from any. */
  async function transactions(from: string | undefined, to: string, fromBlock = 0n): Promise<Hex[]> {
    const args = { ...(from !== undefined && { from: from as Hex }), to: to as Hex }
    const event = { address: asset, abi: TOKEN, eventName: 'Transfer', args } as const
    const logs = await client.getContractEvents({ ...event, fromBlock })
    return logs.map(({ transactionHash }) => transactionHash)
  }

  return {
    /** Balance in micro-USDC. */
    balanceOf: (owner: string) =>
      client.readContract({ address: asset, abi: TOKEN, functionName: 'balanceOf', args: [owner as Hex] }),
    transactions,
    /** The number of these transfers. */
    transfers: async (from: string | undefined, to: string) => (await transactions(from, to)).length,
  }
}
