/** Reads a body up to a limit, and UTF-8 and JSON that may be invalid. */

/**
 * Undefined if there are more than `bytesMax` bytes. Reading ends there, which cancels the body of a `Response` and
 * destroys a stream of Node. The bytes of a `Response` are counted after decompression.
 */
export async function readUpTo(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const read: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.byteLength
    if (length > bytesMax) return undefined
    read.push(chunk)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of read) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

/** Undefined if the bytes are not UTF-8. Keeps a byte order mark. */
export function decodeUtf8(bytes: ArrayBuffer | Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
