/**
 * Items of clients by address prefix, for fair shares: between wide prefixes before narrow ones (contract 6.2.9). As in
 * RFC 8290 (FQ-CoDel), a prefix without a recent turn goes before those with one: attackers of 2,300 networks that send
 * again at once wait behind every other client (`bench fairness`, pipelined quotes).
 */

/** Prefixes whose recent turn is remembered although they have no items: 0.3 MiB for each wider prefix that waits. */
export const REMEMBERED_MAX = 2_500

interface OfClient {
  /** From the widest to the narrowest. */
  readonly prefixes: readonly string[]
}

export class PrefixTree<Item extends OfClient> {
  size = 0
  /** Prefixes with items and without a recent turn, in the order of their turns. */
  readonly #fresh = new Map<string, PrefixTree<Item>>()
  /** Prefixes with items and a recent turn, in the order of their turns. */
  readonly #served = new Map<string, PrefixTree<Item>>()
  /** Prefixes with a recent turn and without items, the oldest turn first. */
  readonly #remembered = new Set<string>()
  /** The turns that are left in the round. Without rounds, the others would wait as long as new prefixes come. */
  #turns = { fresh: 0, served: 0 }
  /** The items of this prefix, the oldest first. */
  readonly #items = new Set<Item>()

  add(item: Item, level = 0): void {
    this.size += 1
    const prefix = item.prefixes[level]
    if (prefix === undefined) return void this.#items.add(item)
    let branch = this.#branch(prefix)
    if (!branch) {
      branch = new PrefixTree<Item>()
      const branches = this.#remembered.delete(prefix) ? this.#served : this.#fresh
      branches.set(prefix, branch)
    }
    branch.add(item, level + 1)
  }

  /** @param item is in the tree */
  remove(item: Item, level = 0): void {
    this.size -= 1
    const prefix = item.prefixes[level] ?? ''
    const branch = this.#branch(prefix)
    branch?.remove(item, level + 1)
    this.#items.delete(item)
    if (branch?.size !== 0) return
    this.#fresh.delete(prefix)
    if (this.#served.delete(prefix)) this.#remember(prefix)
  }

  /** Removes the oldest item of the next prefix. */
  takeNext(): Item | undefined {
    const item = this.#rotate()
    if (item) this.remove(item)
    else this.#remembered.clear()
    return item
  }

  #branch(prefix: string): PrefixTree<Item> | undefined {
    return this.#fresh.get(prefix) ?? this.#served.get(prefix)
  }

  #rotate(): Item | undefined {
    const next = this.#nextBranch()
    if (next) {
      const [prefix, branch] = next
      this.#fresh.delete(prefix)
      this.#served.delete(prefix)
      this.#served.set(prefix, branch)
      return branch.#rotate()
    }
    const [oldest] = this.#items
    return oldest
  }

  /** A round has a turn for each prefix that waits at its start, and at most as many for prefixes that come later. */
  #nextBranch(): [string, PrefixTree<Item>] | undefined {
    const waiting = { fresh: this.#fresh.size, served: this.#served.size }
    if (waiting.fresh + waiting.served === 0) return undefined
    const hasTurn = (kind: 'fresh' | 'served') => waiting[kind] > 0 && this.#turns[kind] > 0
    if (!hasTurn('fresh') && !hasTurn('served'))
      this.#turns = { fresh: waiting.fresh + waiting.served, served: waiting.served }
    const kind = hasTurn('fresh') ? 'fresh' : 'served'
    this.#turns[kind] -= 1
    const [next] = kind === 'fresh' ? this.#fresh : this.#served
    return next
  }

  #remember(prefix: string): void {
    this.#remembered.add(prefix)
    const [oldest = ''] = this.#remembered
    if (this.#remembered.size > REMEMBERED_MAX) this.#remembered.delete(oldest)
  }

  /** The newest item of the largest prefix in the largest prefix, and so on. */
  newestOfLargest(): Item | undefined {
    let largest: PrefixTree<Item> | undefined
    for (const branches of [this.#fresh, this.#served])
      for (const branch of branches.values()) if (branch.size > (largest?.size ?? 0)) largest = branch
    return largest ? largest.newestOfLargest() : [...this.#items].at(-1)
  }
}
