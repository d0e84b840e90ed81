/**
 * Finds the transfers of many payments with two searches: one for the uses of their nonces, and one for the transfers
 * to their receivers in the blocks of those uses. A payment that is not found can still exist.
 */
import { pad, type Hex } from 'viem'
import type { Rpc } from '../rpc/json-rpc.ts'
import { parseTransfer, readLogs, TRANSFER, USED, type EventLog, type Transfer } from './event-logs.ts'
import { isTimeout } from '../../../base/deadline.ts'
import { isTooWide, RangeSearch, type BlockRange } from './search-block-ranges.ts'
import type { NonceKey } from './token.ts'

/** Nonces in one search. If a node refuses so many values of a topic, it is asked for half as many until a restart. */
const VALUES_MAX = 1_000

export interface PaymentQuery extends NonceKey {
  receiver: Hex
  /** The block of the payment is probably one of these. */
  fromBlock: bigint
  toBlock: bigint
}

interface FoundTransfer {
  transfer: Transfer
  block: Pick<EventLog, 'blockNumber' | 'blockHash'>
}

export class TransferSearch {
  readonly #search = new RangeSearch(1)
  #valuesMax = VALUES_MAX

  /** By {@link keyOf}. Rejects if the node cannot be read. */
  async find(rpc: Rpc, queries: readonly PaymentQuery[]): Promise<Map<string, FoundTransfer>> {
    const found = new Map<string, FoundTransfer>()
    let size = this.#valuesMax
    for (let start = 0; start < queries.length;)
      try {
        await this.#findPart(rpc, queries.slice(start, start + size), found)
        start += size
        this.#valuesMax = size
      } catch (cause) {
        // After a time-out the next search has a smaller range. A node that refuses one nonce is out of order.
        if (!isTooWide(cause) || isTimeout(cause) || size === 1) throw cause
        size = Math.floor(size / 2)
      }
    return found
  }

  async #findPart(rpc: Rpc, queries: readonly PaymentQuery[], found: Map<string, FoundTransfer>): Promise<void> {
    const address = distinct(queries.map(({ asset }) => asset))
    const [from, to] = [queries.map(({ fromBlock }) => fromBlock), queries.map(({ toBlock }) => toBlock)]
    const nonces = { address, topics: [USED, null, queries.map(({ nonce }) => nonce)] }
    const uses = await this.#readAll({ from: least(from), to: greatest(to) }, (range) => readLogs(rpc, nonces, range))
    if (uses.length === 0) return
    const blocks = uses.map(({ blockNumber }) => blockNumber)
    const receivers = { address, topics: [TRANSFER, null, distinct(queries.map(({ receiver }) => pad(receiver)))] }
    const inBlocks = { from: least(blocks), to: greatest(blocks) }
    const transfers = await this.#readAll(inBlocks, (range) => readLogs(rpc, receivers, range))
    const byPlace = new Map(transfers.map((log) => [placeOf(log), log]))
    for (const use of uses) {
      // The token logs the transfer directly after the use.
      const next = byPlace.get(placeOf({ ...use, logIndex: use.logIndex + 1n }))
      const transfer = next && use.topics[0] === USED ? parseTransfer(next, use.address) : undefined
      if (transfer) found.set(`${use.address}/${use.topics[1]}/${use.topics[2]}`, { transfer, block: use })
    }
  }

  /** All logs of a range, as far as the limits of the node and of a search allow. */
  async #readAll(range: BlockRange, read: (range: BlockRange) => Promise<EventLog[]>): Promise<EventLog[]> {
    const logs: EventLog[] = []
    const collect = async (part: BlockRange): Promise<undefined> => {
      logs.push(...(await read(part)))
      // A result would end the search.
      return undefined
    }
    await this.#search.find({ ...range, key: '', read: collect })
    return logs
  }
}

export const keyOf = ({ asset, payer, nonce }: NonceKey) => `${asset}/${pad(payer)}/${nonce}`

function placeOf({ blockHash, transactionHash, logIndex }: EventLog): string {
  return `${blockHash} ${transactionHash} ${logIndex}`
}

const distinct = <Value>(values: readonly Value[]) => [...new Set(values)]
const least = (values: readonly bigint[]) => values.reduce((one, other) => (one < other ? one : other))
const greatest = (values: readonly bigint[]) => values.reduce((one, other) => (one > other ? one : other))
