/** A sliding window in memory: for a process whose shared window fails, and for simulations. */
import {
  addCounts,
  hasNoSlots,
  NO_SLOTS,
  subtractCounts,
  type SlidingWindow,
  type SlotCounts,
  type WindowEntry,
  type WindowTotal,
} from './window.ts'

export class MemoryWindow implements SlidingWindow {
  /** In the order of the keys. */
  #entries: WindowEntry[] = []
  #total: WindowTotal = { revision: 0, counts: NO_SLOTS }

  /** No other code can run during the synchronous `work`. Unlike in LMDB, changes are kept if `work` throws. */
  transaction<T>(work: () => T): T {
    return work()
  }

  total(): WindowTotal {
    return this.#total
  }

  entries({ newestFirst } = { newestFirst: false }): Iterable<WindowEntry> {
    return newestFirst ? this.#entries.toReversed() : this.#entries
  }

  get(key: string): SlotCounts | undefined {
    return this.#entries.find((entry) => entry.key === key)?.counts
  }

  put(entry: WindowEntry): void {
    const { revision, counts } = this.#total
    const others = subtractCounts(counts, this.get(entry.key) ?? NO_SLOTS)
    this.#total = { revision: revision + 1, counts: addCounts(others, entry.counts) }
    const remaining = this.#entries.filter(({ key }) => key !== entry.key)
    const index = remaining.findLastIndex(({ key }) => key < entry.key) + 1
    this.#entries = hasNoSlots(entry.counts) ? remaining : remaining.toSpliced(index, 0, entry)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
