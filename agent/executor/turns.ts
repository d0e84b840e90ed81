/** Single flight: work on one key is done one after another, in the order of asking. */

export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()
  #isClosed = false

  /** Lets what has begun end, and begins nothing more. */
  close(): void {
    this.#isClosed = true
  }

  /** Whether something is under way, or in line, under this key. */
  isTaken(key: string): boolean {
    return this.#last.has(key)
  }

  /** Runs `work` once everything asked for earlier under `key` has ended, well or badly; after a close, `instead`. */
  async run<T>(key: string, work: () => Promise<T>, instead: () => T): Promise<T> {
    const turn = this.#after(this.#last.get(key), () => (this.#isClosed ? instead() : work()))
    this.#last.set(key, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key)
    }
  }

  async #after<T>(earlier: Promise<unknown> | undefined, work: () => T | Promise<T>): Promise<T> {
    // A failure of the one before is that one's to report.
    await earlier?.catch(() => undefined)
    return work()
  }
}
