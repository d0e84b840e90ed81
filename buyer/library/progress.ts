/** How far a purchase is, for callers that stop waiting for it. */
import { PurchaseError } from './purchase-error.ts'

export class Progress {
  /** The file of the purchase, once there can be a payment in it. */
  file: string | undefined
  #isSigning = false
  #callers = 0
  #whenStored: () => void = () => undefined
  readonly #isStored = new Promise<void>((resolve) => void (this.#whenStored = resolve))

  /** @throws if every caller has aborted, so that nothing is signed that nobody waits for */
  requireCaller(): void {
    if (this.#callers === 0) throw new PurchaseError('aborted', 'The call was aborted. Nothing was signed')
  }

  beginSigning(): void {
    this.requireCaller()
    this.#isSigning = true
  }

  stored(file: string): void {
    this.file = file
    this.#whenStored()
  }

  /** The result of `work`, which runs on, unless the caller aborts first. */
  async wait<T>(work: Promise<T>, signal?: AbortSignal | null): Promise<T> {
    this.#callers += 1
    if (!signal) return work
    const { promise: aborted, resolve: abort } = whenAborted(signal)
    try {
      return await Promise.race([work, aborted.then(() => this.#leave(work))])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async #leave(work: Promise<unknown>): Promise<never> {
    this.#callers -= 1
    const ended = work.then(
      () => undefined,
      () => undefined,
    )
    // Whether there is a payment is known in a moment.
    if (this.#isSigning) await Promise.race([this.#isStored, ended])
    const { file } = this
    const known = file === undefined ? 'before a payment was signed' : `after a payment was signed, which is in ${file}`
    throw new PurchaseError('aborted', `The call was aborted ${known}`, { file })
  }
}

/** The caller removes the listener `resolve`. */
export function whenAborted(signal: AbortSignal | undefined) {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => void (resolve = done))
  if (signal?.aborted) resolve()
  signal?.addEventListener('abort', resolve, { once: true })
  return { promise, resolve }
}
