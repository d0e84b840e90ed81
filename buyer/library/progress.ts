/** How far a purchase is, for callers that stop waiting for it. */
import { PurchaseError } from './purchase-error.ts'

export class Progress {
  #file: string | undefined
  #callers = 0
  /** Resolves when it is known whether there is a payment. */
  #known = deferred()

  /** @throws if every caller has aborted, so that nothing is signed or sent that nobody waits for */
  requireCaller(): void {
    if (this.#callers === 0) throw new PurchaseError('aborted', 'The call was aborted. Nothing was sent')
  }

  /** There is no payment that can be charged. */
  none(): void {
    this.#file = undefined
    this.#known.resolve()
  }

  /** A signature that nobody waits for any more is not stored, so its payment is never sent. */
  beginStoring(): void {
    this.requireCaller()
    this.#known = deferred()
  }

  stored(file: string): void {
    this.#file = file
    this.#known.resolve()
  }

  /** The result of `work`, which runs on, unless the caller aborts first. */
  async wait<T>(work: Promise<T>, ...signals: readonly Signal[]): Promise<T> {
    this.#callers += 1
    const { aborted, stop } = whenAborted(signals)
    try {
      return await Promise.race([work, aborted.then((reason) => this.#leave(work, reason))])
    } finally {
      stop()
    }
  }

  async #leave(work: Promise<unknown>, cause: unknown): Promise<never> {
    this.#callers -= 1
    const ended = work.then(
      () => undefined,
      () => undefined,
    )
    // The storage is read or written for a moment.
    await Promise.race([this.#known.promise, ended])
    const file = this.#file
    const known = file === undefined ? 'before a payment was sent' : `after a payment was signed, which is in ${file}`
    throw new PurchaseError('aborted', `The call was aborted ${known}`, { file, cause })
  }
}

function deferred() {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => void (resolve = done))
  return { promise, resolve }
}

type Signal = AbortSignal | undefined

/** Resolves with the reason of the first signal that aborts. The caller calls `stop`. */
export function whenAborted(signals: readonly Signal[]) {
  const ended = new AbortController()
  const aborted = new Promise<unknown>((resolve) => {
    for (const signal of signals) {
      const abort = () => resolve(signal?.reason)
      if (signal?.aborted) abort()
      signal?.addEventListener('abort', abort, { once: true, signal: ended.signal })
    }
  })
  return { aborted, stop: () => ended.abort() }
}
