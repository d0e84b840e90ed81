/**
 * Fair shares between the address prefixes of clients: between wide prefixes before narrow ones (contract 6.2.7).
 */

interface OfClient {
  /** From the widest to the narrowest. */
  readonly prefixes: readonly string[]
}

/** Waiting items, taken round-robin over their prefixes. */
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

  *[Symbol.iterator](): Generator<Item> {
    for (const branch of this.#branches.values()) yield* branch
    yield* this.#items
  }
}

/** The items of the prefix with the largest sum of weights, in their order. */
export function ofLargestPrefix<Item extends OfClient>(
  items: Iterable<Item>,
  weightOf: (item: Item) => number = () => 1,
): Item[] {
  let left = [...items]
  for (let level = 0; left[0]?.prefixes[level] !== undefined; level += 1) {
    const sums = new Map<string | undefined, number>()
    for (const item of left) {
      const prefix = item.prefixes[level]
      sums.set(prefix, (sums.get(prefix) ?? 0) + weightOf(item))
    }
    const [largest] = [...sums].reduce((one, other) => (other[1] > one[1] ? other : one))
    left = left.filter(({ prefixes }) => prefixes[level] === largest)
  }
  return left
}
