/** Reads headers of blocks. */
import { numberToHex } from 'viem'
import * as z from 'zod'
import { RpcError, type Rpc } from '../rpc/json-rpc.ts'

/**
 * For a node without the block tag `finalized`: the newest block with this many confirmations counts as final. At two
 * seconds a block that is 30 minutes, twice as long as Base usually needs.
 */
const FINAL_CONFIRMATIONS = 900n

export const hash = z.string().regex(/^0x[0-9a-f]{64}$/)
export const hexNumber = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/, { abort: true })
  .transform((text) => BigInt(text))

const blockSchema = z.object({ number: hexNumber, hash, timestamp: hexNumber })
type BlockHeader = z.infer<typeof blockSchema>

/** Rejects if the node does not have the block. */
export async function readBlock(rpc: Rpc, at: bigint | 'latest'): Promise<BlockHeader> {
  return blockSchema.parse(await rpc('eth_getBlockByNumber', [at === 'latest' ? at : numberToHex(at), false]))
}

/**
 * The newest final block. A node without the tag `finalized` returns an error or `null`: its confirmations are counted.
 */
export async function readFinalBlock(rpc: Rpc): Promise<BlockHeader> {
  const tagged = await rpc('eth_getBlockByNumber', ['finalized', false]).catch((cause: unknown) => {
    if (cause instanceof RpcError) return null
    throw cause
  })
  if (tagged !== null) return blockSchema.parse(tagged)
  const { number } = await readBlock(rpc, 'latest')
  return readBlock(rpc, number > FINAL_CONFIRMATIONS ? number - FINAL_CONFIRMATIONS : 0n)
}
