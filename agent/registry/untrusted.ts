/** Text that anyone may have written on the chain, made fit to be shown: short, and with nothing in it that can't be seen. */
import { hexToBytes, type Hex } from 'viem'
import { showHidden } from '../../store/hidden.ts'

/** What is not hidden, and has no look of its own all the same: private use, unassigned, line and paragraph ends. */
const UNSEEN = /[\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu
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
  const text = printable(Array.from(whole).slice(0, codePointsMax).join(''))
  return { text, altered: text !== whole || whole.includes(REPLACEMENT) }
}

/** A text with a replacement for every character that can't be seen; it can't drive a terminal. */
export function printable(text: string): string {
  return showHidden(text, () => REPLACEMENT).replace(UNSEEN, REPLACEMENT)
}
