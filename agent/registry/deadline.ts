/** Work that is over in time, whether or not whoever does it listens. */
import { RegistryError } from './errors.ts'

/** Calls back once; what it returns cancels that. */
export type Timer = (callback: () => void, milliseconds: number) => () => void

interface Limits {
  timer: Timer
  milliseconds: number
  /** Somebody else's reason to give up. */
  signal?: AbortSignal | undefined
}

/** @throws RegistryError LATE when the time is over */
export async function inTime<Result>(
  { timer, milliseconds, signal }: Limits,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController()
  // Not AbortSignal.any: with a signal that lives as long as the service, Node 20 keeps what it made.
  const giveUp = () => over.abort()
  signal?.addEventListener('abort', giveUp, { once: true })
  if (signal?.aborted) giveUp()
  const cancel = timer(giveUp, milliseconds)
  try {
    return await Promise.race([work(over.signal), aborted(over.signal)])
  } catch (cause) {
    throw over.signal.aborted ? new RegistryError('LATE') : cause
  } finally {
    cancel()
    signal?.removeEventListener('abort', giveUp)
    // Whatever of it is still going on, such as an answer's unread body.
    giveUp()
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(new RegistryError('LATE'))
    if (signal.aborted) fail()
    signal.addEventListener('abort', fail, { once: true })
  })
}
