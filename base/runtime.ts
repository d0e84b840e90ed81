/**
 * Types of functions that are passed as arguments, so that tests can replace them: timers and the report of a failure.
 */

/** Calls `callback` once after `milliseconds`. The result cancels the call. */
export type Timer = (callback: () => void, milliseconds: number) => () => void

/**
 * Reports a failure after which the caller continues. `event` is a fixed name for the log; `cause` is never shown to
 * clients. `requestId` names the request that failed, if it is one.
 */
export type Report = (event: string, cause: unknown, requestId?: string) => void
