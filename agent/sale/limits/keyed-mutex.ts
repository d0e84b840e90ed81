/** A mutex per key: one turn of a key at a time, in the order of the calls. */

export class KeyedMutex {
  /** The end of the last turn of each key. */
  readonly #last = new Map<string, Promise<void>>()
  #isClosed = false

  /** Lets the current turns end, and begins no other. */
  close(): void {
    this.#isClosed = true
  }

  /** Whether a turn of this key lasts or waits. */
  isHeld(key: string): boolean {
    return this.#last.has(key)
  }

  /**
   * Waits for the earlier turns of the key. `hasWaited` tells that there was one. The disposal ends the turn.
   * @returns undefined once closed
   */
  async enter(key: string): Promise<({ hasWaited: boolean } & Disposable) | undefined> {
    const earlier = this.#last.get(key)
    let leave = () => {}
    const left = new Promise<void>((resolve) => (leave = resolve))
    this.#last.set(key, left)
    const end = () => {
      if (this.#last.get(key) === left) this.#last.delete(key)
      leave()
    }
    await earlier
    if (!this.#isClosed) return { hasWaited: earlier !== undefined, [Symbol.dispose]: end }
    end()
    return undefined
  }
}
