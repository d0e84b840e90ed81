/**
 * A tree of items by address prefix. Its levels are the prefixes of a client, the widest first, so each operation
 * divides fairly between wide prefixes before narrow ones (contract 6.2.7). `at` is the level.
 */

type Path = readonly string[]

export class PrefixTree<Item> {
  /** The sum of all weights. */
  size = 0
  /** In the order of their turns. */
  readonly #branches = new Map<string, PrefixTree<Item>>()
  /** The items of this prefix with their weights, the oldest first. */
  readonly #items = new Map<Item, number>()

  add(path: Path, item: Item, weight = 1, at = 0): void {
    this.size += weight
    const prefix = path[at]
    if (prefix === undefined) return void this.#items.set(item, weight)
    const branch = this.#branches.get(prefix) ?? new PrefixTree<Item>()
    if (branch.size === 0) this.#branches.set(prefix, branch)
    branch.add(path, item, weight, at + 1)
  }

  /** Returns the weight of the item; 0 if it is not in the tree. */
  remove(path: Path, item: Item, at = 0): number {
    const prefix = path[at]
    const branch = prefix === undefined ? undefined : this.#branches.get(prefix)
    const weight = prefix === undefined ? (this.#items.get(item) ?? 0) : (branch?.remove(path, item, at + 1) ?? 0)
    this.size -= weight
    if (prefix === undefined) this.#items.delete(item)
    else if (branch?.size === 0) this.#branches.delete(prefix)
    return weight
  }

  /** The sum of the weights under a prefix. */
  sizeOf(path: Path, at = 0): number {
    const prefix = path[at]
    return prefix === undefined ? this.size : (this.#branches.get(prefix)?.sizeOf(path, at + 1) ?? 0)
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
  largest(under: Path = [], at = 0): Item[] {
    const prefix = under[at]
    if (prefix !== undefined) return this.#branches.get(prefix)?.largest(under, at + 1) ?? []
    let found: PrefixTree<Item> | undefined
    for (const branch of this.#branches.values()) if (branch.size > (found?.size ?? 0)) found = branch
    return found ? found.largest() : [...this.#items.keys()]
  }
}
