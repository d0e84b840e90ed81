/**
 * Starts requests round-robin over the address prefixes, at most eight in each iteration of the event loop, because
 * Node accepts one connection in each iteration. A client with many requests delays others by one request.
 */
import { PrefixTree } from '../../sale/limits/prefix-tree.ts'

/** Some hundred microseconds of work. Iterations of the event loop without requests cost little. */
const PER_LOOP_TURN = 8

export class Turns {
  readonly #waiting = new PrefixTree<() => void>()
  /** Begun in this iteration of the event loop. */
  #begun = 0

  /** Runs the work now, or in its turn. */
  run(prefixes: readonly string[], work: () => void): void {
    if (this.#waiting.size > 0 || this.#begun === PER_LOOP_TURN) this.#waiting.add(prefixes, work)
    else this.#begin(work)
  }

  #begin(work: () => void): void {
    if (this.#begun === 0) setImmediate(() => this.#next())
    this.#begun += 1
    work()
  }

  #next(): void {
    this.#begun = 0
    for (let work; this.#begun < PER_LOOP_TURN && (work = this.#waiting.takeNext());) this.#begin(work)
  }
}
