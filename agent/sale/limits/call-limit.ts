/**
 * Limits how many verified payments of one transport are sold at once. Replays, quotes and protocol calls do not count.
 */

/** The sales that one transport runs at once (contract 4.5.10). */
export const CALLS_MAX = 8
/** The time limit of a call over A2A or MCP (contract 4.5.10). A sale that exceeds it continues. */
export const CALL_TIMEOUT_MS = 65_000

/** The detail of `gateway_unavailable` for a call that exceeds the time limit. */
export const LATE = 'it was not ready in time'

export class CallLimit {
  readonly #running = new Set<symbol>()

  /** Counts as one running sale until it is disposed. Undefined if too many run. */
  take(): Disposable | undefined {
    if (this.#running.size >= CALLS_MAX) return undefined
    const sale = Symbol()
    this.#running.add(sale)
    return { [Symbol.dispose]: () => void this.#running.delete(sale) }
  }
}
