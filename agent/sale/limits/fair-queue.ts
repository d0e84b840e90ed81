/**
 * Runs a bounded number of tasks at once. The next task is of the address with the fewest running tasks, so an address
 * with many tasks delays only itself.
 */

interface Waiting {
  address: string
  start: () => void
}

export class FairQueue {
  readonly #max: number
  readonly #running = new Map<string, number>()
  /** In the order of arrival. */
  readonly #waiting: Waiting[] = []
  #total = 0

  constructor(max: number) {
    this.#max = max
  }

  async run<T>(address: string, work: () => Promise<T>): Promise<T> {
    if (this.#total >= this.#max) await new Promise<void>((start) => this.#waiting.push({ address, start }))
    else this.#count(address, 1)
    try {
      return await work()
    } finally {
      this.#count(address, -1)
      this.#startNext()
    }
  }

  #startNext(): void {
    const [first] = this.#waiting
    if (!first) return
    const runningOf = ({ address }: Waiting) => this.#running.get(address) ?? 0
    let next = first
    for (const each of this.#waiting) if (runningOf(each) < runningOf(next)) next = each
    this.#waiting.splice(this.#waiting.indexOf(next), 1)
    this.#count(next.address, 1)
    next.start()
  }

  #count(address: string, change: 1 | -1): void {
    this.#total += change
    const running = (this.#running.get(address) ?? 0) + change
    if (running > 0) this.#running.set(address, running)
    else this.#running.delete(address)
  }
}
