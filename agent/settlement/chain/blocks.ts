/** Reads headers of blocks. */
import { numberToHex } from 'viem'
import * as z from 'zod'
import { RpcError, type Rpc } from '../rpc/json-rpc.ts'

/**
 * For a node without the block tag `finalized`: the newest block with this many confirmations counts as final. At two
 * seconds a block that is 30 minutes, twice as long as Base usually needs.
 */
export const FINAL_CONFIRMATIONS_DEFAULT = 900

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
export async function readFinalBlock(rpc: Rpc, confirmations: bigint): Promise<BlockHeader> {
  const tagged = await rpc('eth_getBlockByNumber', ['finalized', false]).catch((cause: unknown) => {
    if (cause instanceof RpcError) return null
    throw cause
  })
  if (tagged !== null) return blockSchema.parse(tagged)
  const { number } = await readBlock(rpc, 'latest')
  return readBlock(rpc, number > confirmations ? number - confirmations : 0n)
}

/**
 * The newest multiple of `step` whose block is older than this time in seconds. It does not depend on the newest block.
 * Interpolates, which needs three blocks if the time between blocks is constant, and bisects at every third block.
 */
export async function findBlockBefore(
  rpc: Rpc,
  { newest, time, step }: { newest: { number: bigint; time: bigint }; time: bigint; step: bigint },
): Promise<bigint> {
  let older = { number: 0n, time: (await readBlock(rpc, 0n)).timestamp }
  let later = newest
  let [low, high] = [0n, newest.number / step + 1n]
  for (let round = 1; older.time < time && high - low > 1n; round += 1) {
    const [blocks, seconds] = [later.number - older.number, later.time - older.time]
    const guess = seconds > 0n ? (older.number + ((time - older.time) * blocks) / seconds) / step : low
    const index = round % 3 === 0 ? (low + high) / 2n : between(low + 1n, guess, high - 1n)
    const { number, timestamp } = await readBlock(rpc, index * step)
    if (timestamp < time) [low, older] = [index, { number, time: timestamp }]
    else [high, later] = [index, { number, time: timestamp }]
  }
  return low * step
}

function between(least: bigint, value: bigint, most: bigint): bigint {
  if (value < least) return least
  return value > most ? most : value
}
