/** Limits of calls over A2A and MCP (contract 4.5.10). */

/** Contract 4.5.1, 4.6.6. Enough for a request and a payment of at most 8 KiB. */
export const CALL_BODY_BYTES_MAX = 16_384

/** The verified payments that one transport sells at once. The next one waits. */
export const CALLS_MAX = 8

/** The detail of `gateway_unavailable` for a call that exceeds the time limit. */
export const LATE = 'it was not ready in time'
