/** Reads headers of blocks. */
import { numberToHex } from 'viem'
import * as z from 'zod'
import type { Rpc } from '../rpc/json-rpc.ts'

export const hash = z.string().regex(/^0x[0-9a-f]{64}$/)
export const hexNumber = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/, { abort: true })
  .transform((text) => BigInt(text))

const blockSchema = z.object({ number: hexNumber, hash, timestamp: hexNumber })
type BlockHeader = z.infer<typeof blockSchema>

/** `finalized` is the newest final block. Rejects if the node does not have the block. */
export async function readBlock(rpc: Rpc, at: bigint | 'latest' | 'finalized'): Promise<BlockHeader> {
  return blockSchema.parse(await rpc('eth_getBlockByNumber', [typeof at === 'bigint' ? numberToHex(at) : at, false]))
}
