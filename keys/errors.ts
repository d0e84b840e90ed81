/** The one error of this folder's key files. */
/**
 * A key, its file or its directory breaks a rule. The message is one line that names the file and the rule.
 * Neither it nor its cause ever holds key material.
 */
export class KeyError extends Error {
  override readonly name = 'KeyError'
}

/** Throws a KeyError about `path`; JSON quoting keeps the message on one line whatever the path holds. */
export function refuse(path: string, rule: string, cause?: unknown): never {
  throw new KeyError(`${JSON.stringify(path)} ${rule}`, cause === undefined ? undefined : { cause })
}

/** Runs one file system call and turns its failure into a KeyError that says what could not be done, and the system's code. */
export async function attempt<T>(path: string, what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    if (cause instanceof KeyError) throw cause
    return refuse(path, `${what} (${errorCode(cause)})`, cause)
  }
}

/** The system's code of a failed file system call, such as `ENOENT`. */
export function errorCode(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'unknown error'
}
