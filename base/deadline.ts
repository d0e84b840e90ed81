/** Time limits for asynchronous work. Work that cannot be aborted keeps running after its limit. */
import type { Timer } from './runtime.ts'

/** Abort reason after the work has ended. Shared, because an abort without a reason creates an exception each time. */
const ENDED = new Error('The work has ended')

/** The error of work that ended because of its limit, equal to that of `AbortSignal.timeout`. */
export const timeoutError = () => new DOMException('The time limit has passed', 'TimeoutError')

export function isTimeout(cause: unknown): boolean {
  return cause instanceof Error && cause.name === 'TimeoutError'
}

interface Deadline {
  timer: Timer
  milliseconds: number
  /** Aborts the work before the limit. */
  signal?: AbortSignal | undefined
}

/**
 * Runs `work`, whose signal aborts after the limit. The signal is made when it is asked for, because it takes longer
 * than the rest.
 * @throws a `TimeoutError` after the limit, or when `signal` aborts
 */
export async function withDeadline<Result>(
  { timer, milliseconds, signal }: Deadline,
  work: (openSignal: () => AbortSignal) => Promise<Result>,
): Promise<Result> {
  let controller: AbortController | undefined
  let expire = (): void => undefined
  const expired = new Promise<never>((_, reject) => {
    expire = () => {
      const error = timeoutError()
      // Before the abort, so that the caller gets this error and not the one that the abort causes in the work.
      reject(error)
      controller?.abort(error)
    }
  })
  // Not AbortSignal.any: Node 20 keeps every signal derived from a long-lived one.
  signal?.addEventListener('abort', expire, { once: true })
  const cancel = timer(expire, milliseconds)
  try {
    if (signal?.aborted) expire()
    return await Promise.race([expired, work(() => (controller ??= new AbortController()).signal)])
  } finally {
    cancel()
    signal?.removeEventListener('abort', expire)
    // Ends what the work left open, such as an unread response body.
    controller?.abort(ENDED)
  }
}
