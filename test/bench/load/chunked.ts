/** The framing of chunked bodies, as compressed responses have it. */

/** The length of a chunked body with its framing (RFC 9112 section 7.1). Undefined while it is not complete. */
export function chunkedBytes(bytes: Buffer): number | undefined {
  let at = 0
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16)
    at = lineEnd + 2 + size + 2
    if (at > bytes.length) return undefined
    if (size === 0) return at
  }
}
