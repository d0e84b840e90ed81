/** A mutex per key: one turn of a key at a time, in the order of the calls. */

/** Clients that hold or wait for a turn of one key (contract 5.6.3). A retry adds one, an attacker thousands. */
export const CLIENTS_MAX = 4

interface Turns {
  /** The end of the last one. */
  end: Promise<void>
  /** Of each client that holds or waits for one, whether it has left. */
  readonly clients: Set<{ hasLeft: () => boolean }>
}

export class KeyedMutex {
  readonly #turns = new Map<string, Turns>()
  #isClosed = false

  /** Lets the current turns end, and begins no other. */
  close(): void {
    this.#isClosed = true
  }

  /** Whether a turn of this key lasts or waits. */
  isHeld(key: string): boolean {
    return this.#turns.has(key)
  }

  /**
   * Waits for the earlier turns of the key. `hasWaited` tells that there was one. The disposal ends the turn.
   * @param hasLeft whether the client has disconnected; it counts until then. By default there is no client.
   * @returns undefined once closed, or if too many clients are there
   */
  async enter(key: string, hasLeft = () => true): Promise<({ hasWaited: boolean } & Disposable) | undefined> {
    const earlier = this.#turns.get(key)
    const clients = earlier?.clients ?? new Set()
    if ([...clients].filter((each) => !each.hasLeft()).length >= CLIENTS_MAX) return undefined
    const client = { hasLeft }
    clients.add(client)
    let leave = () => {}
    const turns = { clients, end: new Promise<void>((resolve) => (leave = resolve)) }
    this.#turns.set(key, turns)
    const end = () => {
      clients.delete(client)
      if (this.#turns.get(key) === turns) this.#turns.delete(key)
      leave()
    }
    await earlier?.end
    if (!this.#isClosed) return { hasWaited: earlier !== undefined, [Symbol.dispose]: end }
    end()
    return undefined
  }
}
