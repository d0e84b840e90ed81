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
