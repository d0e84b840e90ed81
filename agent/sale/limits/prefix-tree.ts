/**
 * Items of clients by address prefix, for fair shares: between wide prefixes before narrow ones (contract 6.2.7).
 */

interface OfClient {
  /** From the widest to the narrowest. */
  readonly prefixes: readonly string[]
}

export class PrefixTree<Item extends OfClient> {
  /** The number of items. */
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

  /** The item must be in the tree. */
  remove(item: Item, level = 0): void {
    this.size -= 1
    const prefix = item.prefixes[level] ?? ''
    const branch = this.#branches.get(prefix)
    if (!branch) return void this.#items.delete(item)
    branch.remove(item, level + 1)
    if (branch.size === 0) this.#branches.delete(prefix)
  }

  /** Removes the oldest item of the next prefix, round-robin. */
  takeNext(): Item | undefined {
    const [next] = this.#branches
    const [item] = next ? [next[1].takeNext()] : this.#items
    if (item === undefined) return undefined
    this.size -= 1
    this.#items.delete(item)
    if (!next) return item
    const [prefix, branch] = next
    this.#branches.delete(prefix)
    if (branch.size > 0) this.#branches.set(prefix, branch)
    return item
  }

  /** The largest prefix in the largest prefix, and so on. Ends above prefixes that all have at most `few`. */
  largest(few = 0): PrefixTree<Item> {
    let largest: PrefixTree<Item> | undefined
    for (const branch of this.#branches.values()) if (branch.size > (largest?.size ?? few)) largest = branch
    return largest?.largest(few) ?? this
  }

  *[Symbol.iterator](): Generator<Item> {
    for (const branch of this.#branches.values()) yield* branch
    yield* this.#items
  }
}
