/** Base64 without the functions of Node.js, because the buyer's library also runs in browsers and Workers. */

/** Undefined unless the text is the one base64 form of its bytes. Decoders accept several texts for the same bytes. */
export function decodeBase64(text: string): Uint8Array | undefined {
  try {
    const binary = atob(text)
    return btoa(binary) === text ? Uint8Array.from(binary, (byte) => byte.charCodeAt(0)) : undefined
  } catch {
    return undefined
  }
}

/** The base64 of the UTF-8 form of a text. */
export function encodeBase64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''))
}
