/** Reads headers of blocks, and finds the block of a time. */
import { numberToHex } from 'viem'
import * as z from 'zod'
import { RpcError, type Rpc } from '../rpc/json-rpc.ts'

/**
 * For a node without the block tag `finalized`: the newest block with this many confirmations counts as final. At two
 * seconds a block that is 30 minutes, twice as long as Base usually needs.
 */
const FINAL_CONFIRMATIONS = 900n
/** A block before a time is found as a multiple of this. At two seconds a block that is half an hour. */
const STEP_BLOCKS = 1_000n
/** Added to an estimated block, because the clocks of service and chain differ: 64 seconds on Base. */
const MARGIN_BLOCKS = 32n

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

/** A block before a time in seconds, or block 0. The same at each call, so that an unfinished search continues. */
export async function blockBefore(rpc: Rpc, newest: bigint, time: bigint): Promise<bigint> {
  let low = 0n
  let high = newest / STEP_BLOCKS + 1n
  while (high - low > 1n) {
    const middle = (low + high) / 2n
    if ((await readBlock(rpc, middle * STEP_BLOCKS)).timestamp < time) low = middle
    else high = middle
  }
  return low * STEP_BLOCKS
}

interface Point {
  number: bigint
  /** In seconds. */
  time: bigint
}

/** The number of the block at a time in seconds, or a later one. Assumes equal times between blocks. */
export function blockAfter(seconds: bigint, { number, time, final }: Point & { final?: Point | undefined }): bigint {
  if (!final || final.time >= time || seconds >= time) return number
  const block = number - ((time - seconds) * (number - final.number)) / (time - final.time) + MARGIN_BLOCKS
  return block < number ? block : number
}
