/** Sums by address prefix, such as the connections of each: which client has the largest part of a limit. */

interface OfClient {
  /** From the widest to the narrowest. */
  readonly prefixes: readonly string[]
}

export class PrefixSums {
  total = 0
  readonly #sums = new Map<string, number>()
  /** Of each level, the widest first. */
  readonly #largest: LargestValue[] = []

  /** @param amount below 0 to take a part back */
  add({ prefixes }: OfClient, amount: number): void {
    this.total += amount
    for (const [level, prefix] of prefixes.entries()) {
      const [before, sum] = [this.of(prefix), this.of(prefix) + amount]
      if (sum === 0) this.#sums.delete(prefix)
      else this.#sums.set(prefix, sum)
      const largest = (this.#largest[level] ??= new LargestValue())
      largest.replace(before, sum)
    }
  }

  of(prefix: string | undefined): number {
    return this.#sums.get(prefix ?? '') ?? 0
  }

  /** The first item of the largest narrow prefix in the largest wide prefix that has an item. */
  firstOfLargest<Item extends OfClient>(items: Iterable<Item>): Item | undefined {
    let first: Item | undefined
    let sums: number[] = []
    for (const item of items) {
      if (first && !this.#isLarger(item, sums)) continue
      first = item
      sums = item.prefixes.map((prefix) => this.of(prefix))
      // No other item can be larger. Ends the search at once if all are alike, as in an attack of many networks.
      if (sums.length > 0 && sums.every((sum, level) => sum === this.#largest[level]?.value)) break
    }
    return first
  }

  #isLarger({ prefixes }: OfClient, sums: readonly number[]): boolean {
    for (const [level, prefix] of prefixes.entries()) {
      const more = this.of(prefix) - (sums[level] ?? 0)
      if (more !== 0) return more > 0
    }
    return false
  }
}

/** The maximum of sums that change. A sum of 0 is none. */
class LargestValue {
  value = 0
  readonly #counts = new Map<number, number>()

  replace(before: number, after: number): void {
    this.#count(before, -1)
    this.#count(after, 1)
    if (!this.#counts.has(this.value) || after > this.value) this.value = Math.max(0, ...this.#counts.keys())
  }

  #count(value: number, change: number): void {
    const count = (this.#counts.get(value) ?? 0) + change
    if (count === 0 || value === 0) this.#counts.delete(value)
    else this.#counts.set(value, count)
  }
}
