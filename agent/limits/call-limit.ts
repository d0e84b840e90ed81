/** Limits how many verified payments of one transport are sold at once. Replays, quotes and protocol calls do not count. */
import { refused, type Refused } from '../operation/outcome.ts'

/** The sales that one transport runs at once (contract 4.5.10). */
export const CALLS_MAX = 8
/** The time limit of a call over A2A or MCP (contract 4.5.10). A sale that exceeds it continues. */
export const CALL_TIMEOUT_MS = 65_000

/** Why such a call gets `gateway_unavailable`. */
export const LATE = 'it was not ready in time'

/** Counts as one running sale until it is disposed, unless it has a refusal. Later disposals change nothing. */
export interface CallSlot extends Disposable {
  refusal?: Refused
}

export class CallLimit {
  readonly #max: number
  #running = 0

  constructor(max: number) {
    this.#max = max
  }

  take(): CallSlot {
    if (this.#running >= this.#max) {
      return { refusal: refused({ code: 'overloaded' }), [Symbol.dispose]: () => undefined }
    }
    this.#running += 1
    let isRunning = true
    return {
      [Symbol.dispose]: () => {
        if (isRunning) this.#running -= 1
        isRunning = false
      },
    }
  }
}
