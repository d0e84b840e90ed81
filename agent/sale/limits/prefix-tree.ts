/**
 * Items of clients by address prefix, for fair shares: between wide prefixes before narrow ones (contract 6.2.9). As in
 * RFC 8290 (FQ-CoDel), a prefix that had no turn lately comes before those that had one: attackers of 2,300
 * networks that come back at once wait behind each other client (`bench fairness`, pipelined quotes).
 */

/** Prefixes that are kept without items, which bounds the memory: about 2 MiB. */
export const KEPT_MAX = 10_000

interface OfClient {
  /** From the widest to the narrowest. */
  readonly prefixes: readonly string[]
}

export class PrefixTree<Item extends OfClient> {
  size = 0
  /** Prefixes that wait for their first turn, the next one first. */
  readonly #fresh = new Map<string, PrefixTree<Item>>()
  /** Prefixes that had a turn, the next one first. Without items they are kept until it would be their turn again. */
  readonly #served = new Map<string, PrefixTree<Item>>()
  /** The items of this prefix, the oldest first. */
  readonly #items = new Set<Item>()

  add(item: Item, level = 0): void {
    this.size += 1
    const prefix = item.prefixes[level]
    if (prefix === undefined) return void this.#items.add(item)
    let branch = this.#branch(prefix)
    if (!branch) this.#fresh.set(prefix, (branch = new PrefixTree<Item>()))
    branch.add(item, level + 1)
  }

  /** @param item is in the tree */
  remove(item: Item, level = 0): void {
    this.size -= 1
    const prefix = item.prefixes[level] ?? ''
    const branch = this.#branch(prefix)
    branch?.remove(item, level + 1)
    this.#items.delete(item)
    if (branch?.size === 0) this.#fresh.delete(prefix)
  }

  /** Removes the oldest item of the next prefix, round-robin. */
  takeNext(): Item | undefined {
    const item = this.#rotate()
    if (item) this.remove(item)
    return item
  }

  #branch(prefix: string): PrefixTree<Item> | undefined {
    return this.#fresh.get(prefix) ?? this.#served.get(prefix)
  }

  #rotate(): Item | undefined {
    const [fresh] = this.#fresh
    if (fresh) {
      const [prefix, branch] = fresh
      this.#fresh.delete(prefix)
      if (this.#served.size >= KEPT_MAX) this.#forgetEmpty()
      this.#served.set(prefix, branch)
      return branch.#rotate()
    }
    for (const [prefix, branch] of this.#served) {
      this.#served.delete(prefix)
      if (branch.size === 0) continue
      this.#served.set(prefix, branch)
      return branch.#rotate()
    }
    const [oldest] = this.#items
    return oldest
  }

  #forgetEmpty(): void {
    for (const [prefix, { size }] of this.#served) if (size === 0) this.#served.delete(prefix)
  }

  /** The newest item of the largest prefix in the largest prefix, and so on. */
  newestOfLargest(): Item | undefined {
    let largest: PrefixTree<Item> | undefined
    for (const branches of [this.#fresh, this.#served])
      for (const branch of branches.values()) if (branch.size > (largest?.size ?? 0)) largest = branch
    return largest ? largest.newestOfLargest() : [...this.#items].at(-1)
  }
}
