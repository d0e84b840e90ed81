/** Text that anyone may have written on the chain, made fit to be shown: short, and with nothing in it that can't be seen. */
import { hexToBytes, type Hex } from 'viem'

/** Controls, format characters (bidi, zero width, tags), private use, surrogates, unassigned, line and paragraph ends. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]/gu
/** What stands for a character that can't be shown, and what the decoder puts for bytes that are no UTF-8. */
const REPLACEMENT = '\uFFFD'

export interface Shown {
  text: string
  /** What is shown is not, or may not be, what stands on the chain. */
  altered: boolean
}

export function show(bytes: Hex, codePointsMax: number): Shown {
  // A byte order mark at the start would be dropped in silence.
  const whole = new TextDecoder('utf-8', { ignoreBOM: true }).decode(hexToBytes(bytes))
  const text = Array.from(whole).slice(0, codePointsMax).join('').replace(UNSEEN, REPLACEMENT)
  return { text, altered: text !== whole || whole.includes(REPLACEMENT) }
}
