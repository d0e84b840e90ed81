/** The window of a rate limit that one process keeps for itself: while the shared one can't be used, and in simulations. */
import { addUp, isEmpty, NO_PLACES, type Entry, type Tally, type Total, type Window } from './window.ts'

export class MemoryWindow implements Window {
  /** In the order of the keys. */
  #entries: Entry[] = []
  #total: Total = { revision: 0, tally: NO_PLACES }

  /** One thread does nothing else meanwhile. */
  alone<T>(work: () => T): T {
    return work()
  }

  total(): Total {
    return this.#total
  }

  entries({ newestFirst } = { newestFirst: false }): Iterable<Entry> {
    return newestFirst ? this.#entries.toReversed() : this.#entries
  }

  find(key: string): Tally | undefined {
    return this.#entries.find((entry) => entry.key === key)?.tally
  }

  put(entry: Entry): void {
    const { revision, tally } = this.#total
    const before = this.find(entry.key) ?? NO_PLACES
    this.#total = { revision: revision + 1, tally: addUp(addUp(tally, entry.tally), before, -1) }
    const others = this.#entries.filter(({ key }) => key !== entry.key)
    this.#entries = isEmpty(entry.tally) ? others : others.toSpliced(placeOf(entry.key, others), 0, entry)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

/** New entries mostly go to the end. */
function placeOf(key: string, entries: readonly Entry[]): number {
  return entries.findLastIndex((entry) => entry.key < key) + 1
}
