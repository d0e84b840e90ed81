/** Caches for a short time which payers have code on chain: contract wallets, and accounts with an EIP-7702 delegation. */
import { LRUCache } from 'lru-cache'
import type { Chain } from '../payments/chain.ts'

/** A wallet can be deployed at any time. */
const CACHED_MS = 60_000
/** Bounds the memory, about 2 MB. */
const PAYERS_MAX = 10_000

export class PayerCode {
  readonly #cached: LRUCache<string, { hasCode: boolean; readAt: number }>
  readonly #time: () => number

  constructor(now: () => Date, payersMax = PAYERS_MAX) {
    this.#cached = new LRUCache({ max: payersMax })
    this.#time = () => now().getTime()
  }

  /** Undefined if the chain was not asked recently. */
  known(payer: string): boolean | undefined {
    const cached = this.#cached.get(payer.toLowerCase())
    const age = this.#time() - (cached?.readAt ?? 0)
    // Negative after the clock was set back.
    return age >= 0 && age < CACHED_MS ? cached?.hasCode : undefined
  }

  /** Throws if the chain cannot be read. */
  async read(chain: Chain, payer: string): Promise<boolean> {
    const known = this.known(payer)
    if (known !== undefined) return known
    const hasCode = await chain.hasCode(payer)
    this.#cached.set(payer.toLowerCase(), { hasCode, readAt: this.#time() })
    return hasCode
  }
}
