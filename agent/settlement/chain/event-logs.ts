/** The events of the token that show what used a nonce, as a node returns them. */
import { numberToHex, pad, toEventSelector, type Hex } from 'viem'
import * as z from 'zod'
import type { Rpc } from '../rpc/json-rpc.ts'
import { hash, hexNumber } from './blocks.ts'
import type { BlockRange } from './search-block-ranges.ts'
import type { NonceKey } from './token.ts'

export const USED = toEventSelector('AuthorizationUsed(address,bytes32)')
export const CANCELED = toEventSelector('AuthorizationCanceled(address,bytes32)')
export const TRANSFER = toEventSelector('Transfer(address,address,uint256)')

export interface Transfer {
  from: string
  to: string
  value: bigint
  /** Transaction hash, lower case. */
  transaction: string
}

export const logSchema = z.object({
  address: z.string().toLowerCase(),
  topics: z.array(hash),
  data: z.string(),
  transactionHash: hash,
  logIndex: hexNumber,
  blockNumber: hexNumber,
  blockHash: hash,
  removed: z.boolean().optional(),
})
export type EventLog = z.infer<typeof logSchema>

interface LogFilter {
  address: string | readonly string[]
  /** Each is a value, several of them, or null for any. */
  topics: readonly (Hex | readonly Hex[] | null)[]
}

/** The logs of a range of blocks. The node may return others as well, which the caller ignores. */
export async function readLogs(rpc: Rpc, filter: LogFilter, { from, to }: BlockRange): Promise<EventLog[]> {
  const range = { fromBlock: numberToHex(from), toBlock: numberToHex(to) }
  const logs = z.array(logSchema).parse(await rpc('eth_getLogs', [{ ...filter, ...range }]))
  return logs.filter(({ removed }) => removed !== true)
}

export function isLogOf({ address, topics }: EventLog, { asset, payer, nonce }: NonceKey, event: Hex): boolean {
  return address === asset && topics[0] === event && topics[1] === pad(payer) && topics[2] === nonce
}

export function parseTransfer({ address, topics, data, transactionHash }: EventLog, asset: string) {
  const [event, from, to] = topics
  const isTransfer = address === asset && event === TRANSFER && /^0x[0-9a-f]{64}$/.test(data)
  if (!isTransfer || from === undefined || to === undefined) return undefined
  const transfer: Transfer = {
    from: topicToAddress(from),
    to: topicToAddress(to),
    value: BigInt(data),
    transaction: transactionHash,
  }
  return transfer
}

function topicToAddress(topic: string): string {
  return `0x${topic.slice(26)}`
}
