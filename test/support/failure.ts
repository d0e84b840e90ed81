/** The name and the message of the error that a promise rejects with. */
export const failureOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no failure',
    (cause: unknown) => String(cause),
  )
