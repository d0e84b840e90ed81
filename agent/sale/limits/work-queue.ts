/**
 * A semaphore with a fair queue: waiting entries get a permit in the order of `PrefixTree`. Long work takes a permit
 * for each of its parts, so that it delays others by one part only.
 */
import { setImmediate } from 'node:timers/promises'
import type { Client } from './address-budget.ts'
import { PrefixTree } from './prefix-tree.ts'

/** Entries that wait for a permit, at most (contract 6.2.4). Bounds the memory. */
export const WAITING_MAX = 1_000

interface Entry extends Pick<Client, 'prefixes'> {
  end: (isServed: boolean) => void
}

export class WorkQueue {
  #free: number
  readonly #waiting = new PrefixTree<Entry>()

  constructor(permits: number) {
    this.#free = permits
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Takes a permit; disposal releases it. After a wait, resolves in a later iteration of the event loop, which the work
   * may block. Undefined if the client disconnects first, or if the queue is full and the prefix of the client has the
   * most entries.
   */
  async enter(client: Pick<Client, 'prefixes' | 'hasLeft' | 'onLeave'>): Promise<Disposable | undefined> {
    if (client.hasLeft()) return undefined
    if (this.#free > 0) this.#free -= 1
    else if (await this.#wait(client)) await setImmediate()
    else return undefined
    let isHeld = true
    const leave = () => {
      if (isHeld) this.leave()
      isHeld = false
    }
    return { [Symbol.dispose]: leave }
  }

  /** Begins the work now or when it gets a place, which must be given back with `leave`. */
  run(prefixes: readonly string[], begin: () => void): void {
    if (this.#free === 0) return this.#waiting.add({ prefixes, end: begin })
    this.#free -= 1
    begin()
  }

  /** The place goes to the next entry. */
  leave(): void {
    const next = this.#waiting.takeNext()
    if (next) next.end(true)
    else this.#free += 1
  }

  #wait({ prefixes, onLeave }: Pick<Client, 'prefixes' | 'onLeave'>): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isServed: boolean) => {
        cancel()
        if (!isServed) this.#waiting.remove(entry)
        resolve(isServed)
      }
      const entry = { prefixes, end }
      const cancel = onLeave(() => end(false))
      this.#waiting.add(entry)
      if (this.#waiting.size > WAITING_MAX) this.#waiting.newestOfLargest()?.end(false)
    })
  }
}
