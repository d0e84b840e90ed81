/** A mutex per key: work for the same key runs one at a time, in the order of the calls. */

export class KeyedMutex {
  /** The last work of each key, which may still run. */
  readonly #last = new Map<string, Promise<unknown>>()
  #isClosed = false

  /** Lets running work finish and starts no other work. */
  close(): void {
    this.#isClosed = true
  }

  /** Whether work for this key is running or waiting. */
  isHeld(key: string): boolean {
    return this.#last.has(key)
  }

  /**
   * Runs `work` after earlier work for the same key has settled. Resolves with `ifClosed()` once closed. `hasWaited`
   * tells `work` that earlier work for the key has ended meanwhile.
   */
  async run<T>(key: string, work: (hasWaited: boolean) => Promise<T>, ifClosed: () => T): Promise<T> {
    const earlier = this.#last.get(key)
    const begin = () => (this.#isClosed ? ifClosed() : work(earlier !== undefined))
    // The caller of the earlier work handles its failure.
    const result = Promise.resolve(earlier).then(begin, begin)
    this.#last.set(key, result)
    try {
      return await result
    } finally {
      if (this.#last.get(key) === result) this.#last.delete(key)
    }
  }
}
