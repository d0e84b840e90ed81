/** The code of a failed system call or database statement, such as `ENOENT`. Undefined if the error has none. */
export function errorCode(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}
