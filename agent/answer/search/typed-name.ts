/** Reads a typed name once: the name, the text around it, and the numbers. */
import { normaliseWords, parseName } from '../../../store/index/normalise-name.ts'
import { isAmbiguousForm, splitMisspeltSuffix, type ParsedName } from '../../../store/index/suffixes.ts'
import { findTypedNumbers, readTypedNumber, type TypedNumber, type TypedNumbers } from '../../operation/typed-number.ts'
import { hasOtherName, readTextAround, splitAfterForm, splitTradingName, type TextAround } from './explained-words.ts'
import { rewriteTypedText, unescapeText } from './typed-text.ts'

export interface QueryName {
  /** The whole text, normalised. */
  normal: string
  /** The whole text as a name. Two if its last word can be a legal form or a part of the name. */
  whole: readonly ParsedName[]
  /** The name up to its first legal form; undefined if that is the whole text. */
  named: ParsedName | undefined
  /** The text outside `named` and `similar`. */
  around: TextAround
  /** The name as similarity search reads it. */
  similar: ParsedName
  /** The number, if the text is nothing else. */
  number: TypedNumber | undefined
  numbers: TypedNumbers
}

/** A legal form that is cut at the end of the text, or `Designated Activity Co.` anywhere. */
const CUT_FORM =
  /(?<![\p{L}\p{N}])(?:(limite?|limi)$|designated(?: a[ctivy]{0,7}| activity c[ompan]{0,5})?$|designated activity co(?![\p{L}\p{N}])\.?)/iu

/** `(Ltd) Kerrigan Foods`, `PLC: Kerrigan Foods`, but not `DAC Systems`. */
const LEADING_FORM =
  /^[^\p{L}\p{N}]*(ltd|(?:limited|dac|clg|plc|ulc?|uc)(?=\s*[).,:;]))[^\p{L}\p{N}]+(?=[\p{L}\p{N}])(.*)$/iu

export function parseQueryName(written: string): QueryName {
  const text = unescapeText(written)
  const words = normaliseWords(text)
  const whole = parseName(text, words)
  const parse = (part: string) => (part === text ? whole : parseName(part))
  const isAmbiguous = isAmbiguousForm(words, whole)
  const name = findTypedNumbers(text).rest.replace(CUT_FORM, (_, limited) =>
    limited === undefined ? 'designated activity company' : 'limited',
  )
  const { before, behind } = splitAfterForm(name)
  const compared = behind !== '' && hasOtherName(behind) ? name : before
  const { named, outside } = splitTradingName(compared)
  const similar = splitMisspeltSuffix(parse(rewriteTypedText(named)))
  const [, form, rest] = similar.suffix === '' ? (LEADING_FORM.exec(named) ?? []) : []
  return {
    normal: words.join(' '),
    // "Cnoc Sé" without its accent: the last word is part of the name.
    whole: isAmbiguous ? [whole, { core: words, suffix: '' }] : [whole],
    named: before === text ? undefined : parse(before),
    around: readTextAround(outside + behind, parse(before).suffix),
    similar: form === undefined ? similar : parseName(`${rest} ${form}`),
    number: readTypedNumber(text),
    numbers: findTypedNumbers(rewriteTypedText(text)),
  }
}
