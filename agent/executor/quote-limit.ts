/**
 * The limit of quotes (contract 6.2.5): a sliding window of a minute for each client address, in the memory of this process.
 * One address cannot use up the quotes of another.
 */
import { LRUCache } from 'lru-cache'
import type { Refused } from '../operation/outcome.ts'
import { rateLimited } from './rate-limited.ts'

const WINDOW_MS = 60_000
/** Requests of this time are counted together and expire with the last of them, so an address has at most 61 entries. */
const BATCH_MS = 1_000
/** Bounds the memory, below 30 MB. The address that was idle longest is forgotten first. */
export const ADDRESSES_MAX = 10_000

/** Requests within {@link BATCH_MS}. */
interface Batch {
  first: number
  last: number
  count: number
}

interface QuoteLimitOptions {
  perMinute: number
  now: () => Date
  addressesMax?: number
}

export class QuoteLimit {
  readonly #perMinute: number
  readonly #time: () => number
  readonly #clients: LRUCache<string, Batch[]>

  constructor({ perMinute, now, addressesMax = ADDRESSES_MAX }: QuoteLimitOptions) {
    this.#clients = new LRUCache({ max: addressesMax })
    this.#perMinute = perMinute
    this.#time = () => now().getTime()
  }

  /** Refuses if this client has no quote left. Counts nothing. */
  check(client: string): Refused | undefined {
    const batches = this.#clients.get(client)
    if (!batches) return undefined
    const now = this.#time()
    removeExpired(batches, now)
    const used = batches.reduce((sum, { count }) => sum + count, 0)
    let surplus = used - this.#perMinute + 1
    if (surplus <= 0) return undefined
    // The batches that must expire, oldest first.
    const last = batches.find(({ count }) => (surplus -= count) <= 0)?.last ?? now
    return rateLimited(last + WINDOW_MS - now)
  }

  count(client: string): void {
    const now = this.#time()
    const batches = this.#clients.get(client) ?? []
    const latest = batches.at(-1)
    if (latest && latest.last <= now && now - latest.first < BATCH_MS) {
      latest.last = now
      latest.count += 1
      return
    }
    removeExpired(batches, now)
    batches.push({ first: now, last: now, count: 1 })
    this.#clients.set(client, batches)
  }
}

/** Entries from the future, which exist after the clock was set back, are treated as made now. */
function removeExpired(batches: Batch[], now: number): void {
  for (const batch of batches.filter(({ last }) => last > now)) Object.assign(batch, { first: now, last: now })
  const isCurrent = ({ last }: Batch) => last > now - WINDOW_MS
  const expired = batches.findIndex(isCurrent)
  batches.splice(0, expired === -1 ? batches.length : expired)
}
