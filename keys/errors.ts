/** The error of key files and of their directory, and the functions that throw it. */
import { errorCode } from '../store/base/error-code.ts'

/**
 * A key, its file or its directory breaks a rule. The message is one line that names the file and the rule.
 * Neither the message nor the cause contains key material.
 */
export class KeyError extends Error {
  override readonly name = 'KeyError'
}

/** Throws a KeyError about `path`. The path is quoted as JSON, which keeps the message on one line. */
export function throwKeyError(path: string, rule: string, cause?: unknown): never {
  throw new KeyError(`${JSON.stringify(path)} ${rule}`, cause === undefined ? undefined : { cause })
}

/** Runs a file system call. A failure becomes a KeyError with `what` and the system's error code. */
export async function withKeyError<T>(path: string, what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    if (cause instanceof KeyError) throw cause
    return throwKeyError(path, `${what} (${errorCode(cause) ?? 'unknown error'})`, cause)
  }
}
