/** Makes text from the chain, which anyone may write, safe to display: bounded and without invisible characters. */
import { hexToBytes, type Hex } from 'viem'
import { replaceInvisible } from '../../store/base/hidden.ts'

/** The decoder inserts the same character for invalid UTF-8. */
const REPLACEMENT = '\uFFFD'

export interface SanitizedText {
  text: string
  /** The text differs, or may differ, from the text on chain. */
  altered: boolean
}

export function sanitizeText(bytes: Hex, codePointsMax: number): SanitizedText {
  // Without ignoreBOM the decoder drops a byte order mark.
  const whole = new TextDecoder('utf-8', { ignoreBOM: true }).decode(hexToBytes(bytes))
  const text = printable(Array.from(whole).slice(0, codePointsMax).join(''))
  return { text, altered: text !== whole || whole.includes(REPLACEMENT) }
}

/** Replaces every invisible character, so that the text cannot control a terminal. */
export function printable(text: string): string {
  return replaceInvisible(text, () => REPLACEMENT)
}
