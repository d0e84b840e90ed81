/**
 * Items of clients by address prefix, for fair shares: between wide prefixes before narrow ones (contract 6.2.9).
 */

interface OfClient {
  /** From the widest to the narrowest. */
  readonly prefixes: readonly string[]
}

export class PrefixTree<Item extends OfClient> {
  size = 0
  /** The next one first. */
  readonly #branches = new Map<string, PrefixTree<Item>>()
  /** The items of this prefix, the oldest first. */
  readonly #items = new Set<Item>()

  add(item: Item, level = 0): void {
    this.size += 1
    const prefix = item.prefixes[level]
    if (prefix === undefined) return void this.#items.add(item)
    const branch = this.#branches.get(prefix) ?? new PrefixTree<Item>()
    this.#branches.set(prefix, branch)
    branch.add(item, level + 1)
  }

  /** @param item is in the tree */
  remove(item: Item, level = 0): void {
    this.size -= 1
    const prefix = item.prefixes[level] ?? ''
    const branch = this.#branches.get(prefix)
    branch?.remove(item, level + 1)
    this.#items.delete(item)
    if (branch?.size === 0) this.#branches.delete(prefix)
  }

  /** Removes the oldest item of the next prefix, round-robin. */
  takeNext(): Item | undefined {
    const item = this.#rotate()
    if (item) this.remove(item)
    return item
  }

  #rotate(): Item | undefined {
    const [next] = this.#branches
    const [oldest] = this.#items
    if (!next) return oldest
    const [prefix, branch] = next
    this.#branches.delete(prefix)
    this.#branches.set(prefix, branch)
    return branch.#rotate()
  }

  /** The newest item of the largest prefix in the largest prefix, and so on. */
  newestOfLargest(): Item | undefined {
    let largest: PrefixTree<Item> | undefined
    for (const branch of this.#branches.values()) if (branch.size > (largest?.size ?? 0)) largest = branch
    return largest ? largest.newestOfLargest() : [...this.#items].at(-1)
  }
}
