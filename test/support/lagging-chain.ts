/**
 * A chain with a block every few seconds behind one URL, as a provider with several nodes: each call reaches a node
 * that is a number of blocks behind. A payment that was sent is in the next block.
 */
import type { Rpc } from '../../agent/settlement/rpc/json-rpc.ts'
import { pick, type Random } from './random.ts'
import type { AuthorizationFields } from './payments.ts'
import { replyTo, showLedger } from './remotes/chain-node.ts'
import { Ledger } from './remotes/ledger.ts'

/** Enough for 24 hours of blocks that are searched. */
const FIRST_BLOCK = 50_000
/** On Base about 15 minutes. */
const UNFINAL_BLOCKS = 450

interface Options {
  chainId: number
  blockMs: number
  /** How many blocks the nodes are behind. A call reaches one of them at random. */
  lags: readonly number[]
  now: () => number
  /** The duration of a call. */
  wait: () => Promise<unknown>
  random: Random
}

export class LaggingChain {
  readonly #options: Options
  readonly ledger: Ledger
  calls = 0

  constructor(options: Options) {
    this.#options = options
    const { chainId, blockMs, now } = options
    // A block has a time in whole seconds.
    const originMs = Math.floor(now() / 1000) * 1000 - FIRST_BLOCK * blockMs
    this.ledger = new Ledger({ unfinalBlocks: UNFINAL_BLOCKS, chainId, blockMs, originMs, now })
  }

  /** Sends the transfer, and returns the hash of its transaction. */
  send(authorization: AuthorizationFields): string {
    const transfer = this.ledger.transfer(authorization, this.ledger.newest + 1)
    if (!transfer) throw new Error('The nonce is used')
    return transfer.transaction
  }

  readonly rpc: Rpc = async (method, params = []) => {
    const { lags, random, wait } = this.#options
    this.calls += 1
    await wait()
    return replyTo(showLedger(this.ledger, this.ledger.newest - pick(random, lags)), method, params)
  }
}
