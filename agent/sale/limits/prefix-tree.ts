/**
 * Items of clients by address prefix, for fair shares: between wide prefixes before narrow ones (contract 6.2.7).
 */

interface OfClient {
  /** From the widest to the narrowest. */
  readonly prefixes: readonly string[]
}

export class PrefixTree<Item extends OfClient> {
  /** The sum of the weights of the items. */
  size = 0
  /** The next one first. */
  readonly #branches = new Map<string, PrefixTree<Item>>()
  /** The items of this prefix with their weights, the oldest first. */
  readonly #items = new Map<Item, number>()

  /** @param weight above 0 */
  add(item: Item, weight = 1, level = 0): void {
    this.size += weight
    const prefix = item.prefixes[level]
    if (prefix === undefined) return void this.#items.set(item, weight)
    const branch = this.#branches.get(prefix) ?? new PrefixTree<Item>()
    this.#branches.set(prefix, branch)
    branch.add(item, weight, level + 1)
  }

  /** Returns the weight of the item, which is 0 if it is not in the tree. */
  remove(item: Item, level = 0): number {
    const prefix = item.prefixes[level] ?? ''
    const branch = this.#branches.get(prefix)
    const weight = branch?.remove(item, level + 1) ?? this.#items.get(item) ?? 0
    this.size -= weight
    this.#items.delete(item)
    if (branch?.size === 0) this.#branches.delete(prefix)
    return weight
  }

  /** Removes the oldest item of the next prefix, round-robin. */
  takeNext(): Item | undefined {
    const item = this.#rotate()
    if (item) this.remove(item)
    return item
  }

  #rotate(): Item | undefined {
    const [next] = this.#branches
    const [oldest] = this.#items.keys()
    if (!next) return oldest
    const [prefix, branch] = next
    this.#branches.delete(prefix)
    this.#branches.set(prefix, branch)
    return branch.#rotate()
  }

  /** The largest prefix in the largest prefix, and so on. Ends above prefixes that all have at most `few`. */
  largest(few = 0): PrefixTree<Item> {
    let largest: PrefixTree<Item> | undefined
    for (const branch of this.#branches.values()) if (branch.size > (largest?.size ?? few)) largest = branch
    return largest?.largest(few) ?? this
  }

  /** The items with the same prefixes as this one, which is in the tree. */
  ofClient(item: Item, level = 0): PrefixTree<Item> {
    return this.#branches.get(item.prefixes[level] ?? '')?.ofClient(item, level + 1) ?? this
  }

  *[Symbol.iterator](): Generator<Item> {
    for (const branch of this.#branches.values()) yield* branch
    yield* this.#items.keys()
  }
}
