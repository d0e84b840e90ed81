/**
 * Things of many clients by their address prefixes. A client is a path from its widest prefix to its address, so what
 * is shared is shared between prefixes first, and then within each of them (contract 6.2.7).
 */

type Path = readonly string[]

export class PrefixTree<Item> {
  /** The sum of all weights. */
  size = 0
  /** In the order of their turns. */
  readonly #branches = new Map<string, PrefixTree<Item>>()
  /** The items of this prefix with their weights, the oldest first. */
  readonly #items = new Map<Item, number>()

  add(path: Path, item: Item, weight = 1): void {
    this.size += weight
    let tree: PrefixTree<Item> = this
    for (const prefix of path) {
      let branch = tree.#branches.get(prefix)
      if (!branch) tree.#branches.set(prefix, (branch = new PrefixTree<Item>()))
      branch.size += weight
      tree = branch
    }
    tree.#items.set(item, weight)
  }

  remove(path: Path, item: Item): void {
    const tree = this.#find(path)
    const weight = tree && tree.#items.get(item)
    if (!tree || weight === undefined) return
    tree.#items.delete(item)
    this.#shrink(path, weight)
  }

  /** The sum of the weights under a prefix. */
  sizeOf(path: Path): number {
    return this.#find(path)?.size ?? 0
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
  largest(under: Path = []): Item[] {
    let tree = this.#find(under)
    while (tree && tree.#branches.size > 0) {
      let largest: PrefixTree<Item> | undefined
      for (const branch of tree.#branches.values()) if (branch.size > (largest?.size ?? 0)) largest = branch
      tree = largest
    }
    return tree ? [...tree.#items.keys()] : []
  }

  #find(path: Path): PrefixTree<Item> | undefined {
    let tree: PrefixTree<Item> = this
    for (const prefix of path) {
      const branch = tree.#branches.get(prefix)
      if (!branch) return undefined
      tree = branch
    }
    return tree
  }

  #shrink(path: Path, weight: number): void {
    this.size -= weight
    let tree: PrefixTree<Item> = this
    for (const prefix of path) {
      const branch = tree.#branches.get(prefix)
      if (!branch) return
      branch.size -= weight
      if (branch.size === 0) return void tree.#branches.delete(prefix)
      tree = branch
    }
  }
}
