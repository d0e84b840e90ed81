/**
 * Things of many clients by their address prefixes. A client is a path from its widest prefix to its address, so what
 * is shared is shared between prefixes first, and then within each of them (contract 6.2.7).
 */

export class PrefixTree<Item> {
  /** The sum of all weights. */
  size = 0
  /** In the order of their turns. */
  readonly #branches = new Map<string, PrefixTree<Item>>()
  /** The items of this prefix with their weights, the oldest first. */
  readonly #items = new Map<Item, number>()

  add(path: readonly string[], item: Item, weight = 1): void {
    this.size += weight
    const [prefix, ...rest] = path
    if (prefix === undefined) return void this.#items.set(item, weight)
    const branch = this.#branches.get(prefix) ?? new PrefixTree<Item>()
    this.#branches.set(prefix, branch)
    branch.add(rest, item, weight)
  }

  /** Returns the weight of the item; 0 if it is not in the tree. */
  remove(path: readonly string[], item: Item): number {
    const [prefix, ...rest] = path
    const branch = prefix === undefined ? undefined : this.#branches.get(prefix)
    const weight = prefix === undefined ? (this.#items.get(item) ?? 0) : (branch?.remove(rest, item) ?? 0)
    this.size -= weight
    if (prefix === undefined) this.#items.delete(item)
    else if (branch?.size === 0) this.#branches.delete(prefix)
    return weight
  }

  /** The sum of the weights under a prefix. */
  sizeOf([prefix, ...rest]: readonly string[]): number {
    return prefix === undefined ? this.size : (this.#branches.get(prefix)?.sizeOf(rest) ?? 0)
  }

  /** Removes the oldest item of the prefix whose turn it is. Its next turn comes after one of every other prefix. */
  takeNext(): Item | undefined {
    const [first] = this.#branches
    if (!first) {
      const [item] = this.#items.keys()
      if (item !== undefined) this.remove([], item)
      return item
    }
    const [prefix, branch] = first
    const before = branch.size
    const item = branch.takeNext()
    this.size -= before - branch.size
    this.#branches.delete(prefix)
    if (branch.size > 0) this.#branches.set(prefix, branch)
    return item
  }

  /** The items of the prefix with the largest sum, the oldest first. Looks at wide prefixes before narrow ones. */
  largest([prefix, ...rest]: readonly string[] = []): Item[] {
    if (prefix !== undefined) return this.#branches.get(prefix)?.largest(rest) ?? []
    let found: PrefixTree<Item> | undefined
    for (const branch of this.#branches.values()) if (branch.size > (found?.size ?? 0)) found = branch
    return found ? found.largest() : [...this.#items.keys()]
  }
}
