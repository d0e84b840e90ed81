/**
 * Searches ranges of blocks that adapt to the limits of a node, down to one block. An unfinished search continues at
 * the next call. Progress is in memory: after a restart the search starts again.
 */
import { LRUCache } from 'lru-cache'
import { entriesAtMost } from '../../../base/lru-cache.ts'
import { RpcError } from '../rpc/json-rpc.ts'
import { RateLimited, ReplyError } from '../rpc/post-json.ts'
import { isTimeout } from '../../../base/deadline.ts'
import { REORG_BLOCKS_MAX } from './view.ts'

/** Covers the lifetime of an authorization if a block takes half a second or more. */
const SPAN_FIRST_BLOCKS = 1_000n
/** For one call. On a node that allows ten blocks this is enough for the first minutes of a payment. */
export const RANGES_MAX = 20
const SEARCHES_MAX = 1_000

export interface BlockRange {
  from: bigint
  to: bigint
}

interface Search<Result> extends BlockRange {
  /** Identifies the logs to search for. The progress is kept under this key and `from`. */
  key: string
  /** Undefined without a result in the range. */
  read: (range: BlockRange) => Promise<Result | undefined>
}

interface Progress {
  next: bigint
  /**
   * The last block of this pass, fixed when the pass starts. A slow pass then ends although the chain grows, and the
   * next pass finds logs that a node omitted.
   */
  end: bigint
  span: bigint
}

export class RangeSearch {
  readonly #progress: LRUCache<string, Progress>

  constructor(searchesMax = SEARCHES_MAX) {
    this.#progress = new LRUCache(entriesAtMost(searchesMax))
  }

  /** The first result. Undefined if there is none or if the search is not finished. */
  async find<Result>({ key, from, to, read }: Search<Result>): Promise<Result | undefined> {
    const name = `${key} ${from}`
    const progress = this.#progress.get(name) ?? { next: from, end: to, span: SPAN_FIRST_BLOCKS }
    this.#progress.set(name, progress)
    if (progress.next === from) progress.end = to
    // A faulty node can name a newest block far beyond the chain. Without this bound the pass would never end.
    progress.end = least(progress.end, to + REORG_BLOCKS_MAX)
    // This node can lag behind the one before, and nodes refuse a range above their newest block.
    const end = least(progress.end, to)
    // Only in this call. The next one tries longer ranges again, because an overload ends.
    let isLimited = false
    for (let ranges = 0; ranges < RANGES_MAX && progress.next <= end; ranges += 1) {
      const range = { from: progress.next, to: least(progress.next + progress.span - 1n, end) }
      let result: Result | undefined
      try {
        result = await read(range)
      } catch (cause) {
        if (!isTooWide(cause) || range.from === range.to) throw cause
        progress.span = (range.to - range.from + 1n) / 2n
        // This call has used its time. The next call begins with the smaller range.
        if (isTimeout(cause)) throw cause
        isLimited = true
        continue
      }
      if (result !== undefined) {
        // A reorganisation can move the event to an earlier block.
        progress.next = from + REORG_BLOCKS_MAX < range.from ? range.from - REORG_BLOCKS_MAX : from
        return result
      }
      progress.next = range.to + 1n
      if (!isLimited) progress.span *= 2n
    }
    // All blocks were read. The node may add missing logs later, so the next search starts again.
    if (progress.next > progress.end) progress.next = from
    return undefined
  }
}

/** Whether a smaller range may help: the node refused this one, sent too much, or took too long. */
export function isTooWide(cause: unknown): boolean {
  // More calls would make it worse. The next search continues here.
  if (cause instanceof RateLimited) return false
  if (cause instanceof ReplyError) return cause.code !== 'UNREACHABLE'
  return cause instanceof RpcError || isTimeout(cause)
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}
