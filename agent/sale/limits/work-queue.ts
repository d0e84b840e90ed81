/**
 * A semaphore for work. Waiting requests get a place round-robin over their address prefixes. Long work takes a place
 * for each of its parts, so that it delays others by one part only.
 */
import type { Client } from './address-budget.ts'
import { PrefixTree } from './prefix-tree.ts'

/** Entries that wait for a place, at most (contract 6.2.4). Bounds the memory. */
export const WAITING_MAX = 1_000

type Waiter = Pick<Client, 'prefixes' | 'connection'>

export class WorkQueue {
  readonly #places: number
  readonly #pause: (() => Promise<unknown>) | undefined
  readonly #waiting = new PrefixTree<(isServed: boolean) => void>()
  #taken = 0

  /** @param pause before work that has waited begins; for work that would hold the event loop one after the other */
  constructor(places: number, pause?: () => Promise<unknown>) {
    this.#places = places
    this.#pause = pause
  }

  /** The number of entries that wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Takes a place until it is disposed. Undefined if the client leaves first, or if the queue is full and this client
   * is of the prefix with the most entries.
   */
  async enter(client: Waiter): Promise<Disposable | undefined> {
    if (client.connection.hasLeft()) return undefined
    if (this.#taken < this.#places) this.#taken += 1
    else if (!(await this.#wait(client))) return undefined
    else await this.#pause?.()
    let isHeld = true
    const leave = () => {
      if (isHeld) this.#leave()
      isHeld = false
    }
    return { [Symbol.dispose]: leave }
  }

  #wait({ prefixes, connection }: Waiter): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isServed: boolean) => {
        cancel()
        this.#waiting.remove(prefixes, end)
        resolve(isServed)
      }
      const cancel = connection.onLeave(() => end(false))
      this.#waiting.add(prefixes, end)
      if (this.#waiting.size > WAITING_MAX) this.#waiting.largest().at(-1)?.(false)
    })
  }

  /** The place goes to the next entry. */
  #leave(): void {
    const next = this.#waiting.takeNext()
    if (next) next(true)
    else this.#taken -= 1
  }
}
