/** Sums by address prefix, such as the connections of each: which client has the largest part of a limit. */

interface OfClient {
  /** From the widest to the narrowest. */
  readonly prefixes: readonly string[]
}

export class PrefixSums {
  total = 0
  readonly #sums = new Map<string, number>()

  /** @param amount below 0 to take a part back */
  add({ prefixes }: OfClient, amount: number): void {
    this.total += amount
    for (const prefix of prefixes) {
      const sum = this.of(prefix) + amount
      if (sum === 0) this.#sums.delete(prefix)
      else this.#sums.set(prefix, sum)
    }
  }

  of(prefix: string | undefined): number {
    return this.#sums.get(prefix ?? '') ?? 0
  }

  /** The first item of the largest narrow prefix in the largest wide prefix that has an item. */
  firstOfLargest<Item extends OfClient>(items: Iterable<Item>): Item | undefined {
    let first: Item | undefined
    for (const item of items) if (!first || this.#isLarger(item, first)) first = item
    return first
  }

  #isLarger(one: OfClient, other: OfClient): boolean {
    for (const [level, prefix] of one.prefixes.entries()) {
      const more = this.of(prefix) - this.of(other.prefixes[level])
      if (more !== 0) return more > 0
    }
    return false
  }
}
