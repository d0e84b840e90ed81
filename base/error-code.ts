/** The code of a failed system call or database statement, such as `ENOENT`. Undefined if the error has none. */
export function errorCode(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

/** Handles the failure of a file operation: returns `value` if the file or directory does not exist. */
export function ifMissing<T>(value: T): (cause: unknown) => T {
  return (cause) => {
    if (errorCode(cause) === 'ENOENT') return value
    throw cause
  }
}
