/** Reads the body of an answer up to a limit, and UTF-8 and JSON that may be invalid. */

/**
 * Returns undefined, and closes the connection, if the body is longer than `bytesMax`. The bytes are counted after
 * decompression.
 */
export async function readReply({ body }: Response, bytesMax: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  // A return leaves the loop, which cancels the body and closes the connection.
  for await (const chunk of body ?? []) {
    length += chunk.byteLength
    if (length > bytesMax) return undefined
    chunks.push(chunk)
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
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
