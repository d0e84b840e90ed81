/** The time limits of one request to a remote service, from the connection to the last byte of the reply. */

/** Short, because a client that retries waits for several calls. */
export const NODE_MS_MAX = 5_000
/** A call over A2A or MCP (contract 4.5.10). A sale that exceeds it continues from step 10 on. */
export const CALL_MS_MAX = 65_000
/** One `verify` and one `settle` fit in a call. */
export const FACILITATOR_MS_MAX = 30_000
