/** A mutex per key: work for the same key runs one at a time, in the order of the calls. */

/** Requests of one client that wait for the same key. Half of the requests that an address may have in progress. */
export const WAITERS_MAX = 32

interface Holder {
  last: Promise<unknown>
  /** The number of waiting requests of each client. */
  waiting: Map<string, number>
}

export class KeyedMutex {
  readonly #holders = new Map<string, Holder>()
  #isClosed = false

  /** Lets running work finish and starts no other work. */
  close(): void {
    this.#isClosed = true
  }

  /** Whether work for this key is running or waiting. */
  isHeld(key: string): boolean {
    return this.#holders.has(key)
  }

  /**
   * Runs `work` after earlier work for the same key has settled. Resolves with `ifNotRun()` once closed, or if too much
   * work of the client waits for the key. `hasWaited` tells `work` that earlier work for the key has ended meanwhile.
   */
  async run<T>(
    { key, client }: { key: string; client: string },
    work: (hasWaited: boolean) => Promise<T>,
    ifNotRun: () => T,
  ): Promise<T> {
    const held = this.#holders.get(key)
    const waiting = held?.waiting ?? new Map<string, number>()
    const ahead = waiting.get(client) ?? 0
    if (held && ahead >= WAITERS_MAX) return ifNotRun()
    if (held) waiting.set(client, ahead + 1)
    const result = this.#after(held?.last, () => {
      if (held) waiting.set(client, (waiting.get(client) ?? 1) - 1)
      return this.#isClosed ? ifNotRun() : work(held !== undefined)
    })
    const holder = { last: result, waiting }
    this.#holders.set(key, holder)
    try {
      return await result
    } finally {
      if (this.#holders.get(key) === holder) this.#holders.delete(key)
    }
  }

  async #after<T>(earlier: Promise<unknown> | undefined, work: () => T | Promise<T>): Promise<T> {
    // The caller of the earlier work handles its failure.
    await earlier?.catch(() => undefined)
    return work()
  }
}
