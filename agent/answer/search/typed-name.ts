/** Reads a typed name once: the name, the text around it, and the numbers. */
import { normaliseWords, parseName } from '../../../store/index/normalise-name.ts'
import { isAmbiguousForm, splitMisspeltSuffix, type ParsedName } from '../../../store/index/suffixes.ts'
import { findTypedNumbers, readTypedNumber, type TypedNumber, type TypedNumbers } from '../../operation/typed-number.ts'
import {
  hasOtherName,
  readTextAround,
  splitAfterForm,
  splitCareOf,
  splitTradingName,
  withoutLeadingCareOf,
  type TextAround,
} from './text-around.ts'
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
  /** The text around a name of so many normalised words with which the text begins; undefined with a legal form. */
  textBehind: ((words: number) => TextAround | undefined) | undefined
  /** The name as similarity search reads it. */
  similar: ParsedName
  /** The number, if the text is nothing else. */
  number: TypedNumber | undefined
  numbers: TypedNumbers
}

/** The names that the text can be as a whole: all of it, and the part up to its first legal form. */
export const namesOf = ({ whole, named }: QueryName): readonly ParsedName[] => (named ? [...whole, named] : whole)

/** A legal form that is cut at the end of the text, or `Designated Activity Co.` anywhere. */
const CUT_FORM =
  /(?<![\p{L}\p{N}])(?:(limite?|limi)$|designated(?: a[ctivy]{0,7}| activity c[ompan]{0,5})?$|designated activity co(?![\p{L}\p{N}])\.?)/iu

/** `(Ltd) Kerrigan Foods`, `PLC: Kerrigan Foods`, but not `DAC Systems`. */
const LEADING_FORM =
  /^[^\p{L}\p{N}]*(ltd|(?:limited|dac|clg|plc|ulc?|uc)(?=\s*[).,:;]))[^\p{L}\p{N}]+(?=[\p{L}\p{N}])(.*)$/iu

let last: { written: string; parsed: QueryName } | undefined

/** Keeps the last result: each register and each part of an answer parses the same text (row `resolve name`). */
export function parseQueryName(written: string): QueryName {
  if (last?.written !== written) last = { written, parsed: parse(written) }
  return last.parsed
}

function parse(written: string): QueryName {
  const text = unescapeText(written)
  const words = normaliseWords(text)
  const whole = parseName(text, words)
  const parsePart = (part: string) => (part === text ? whole : parseName(part))
  const isAmbiguous = isAmbiguousForm(words, whole)
  const typed = findTypedNumbers(text)
  const rewritten = rewriteTypedText(text)
  const name = typed.rest.replace(CUT_FORM, (_, limited) =>
    limited === undefined ? 'designated activity company' : 'limited',
  )
  const unled = withoutLeadingCareOf(name)
  const subject = unled === undefined ? splitCareOf(name) : { text: unled, careOf: '' }
  const { before, behind } = splitAfterForm(subject.text)
  const compared = behind !== '' && hasOtherName(behind) ? subject.text : before
  const trading = splitTradingName(before)
  const similarText = compared === before ? trading.named : splitTradingName(compared).named
  const similar = splitMisspeltSuffix(parsePart(rewriteTypedText(similarText)))
  const [, form, rest] = similar.suffix === '' ? (LEADING_FORM.exec(similarText) ?? []) : []
  const named = before === text ? undefined : parsePart(before)
  const around = readTextAround(trading.outside + behind, (named ?? whole).suffix, subject.careOf)
  return {
    normal: words.join(' '),
    // "Cnoc Sé" without its accent: the last word is part of the name.
    whole: isAmbiguous ? [whole, { core: words, suffix: '' }] : [whole],
    named,
    around,
    textBehind: around.hasForm ? undefined : (count) => readBehind(text, count, words),
    similar: form === undefined ? similar : parseName(`${rest} ${form}`),
    number: readTypedNumber(text),
    numbers: rewritten === text ? typed : findTypedNumbers(rewritten),
  }
}

const WORD = /[\p{L}\p{N}]+/gu

function readBehind(text: string, count: number, words: readonly string[]): TextAround | undefined {
  const beginning = words.slice(0, count).join(' ')
  // Only "&" and "+" make words that are not in the text.
  const first = count - 1 - (text.match(/[&+]/g)?.length ?? 0)
  for (const { 0: word, index } of Array.from(text.matchAll(WORD)).slice(Math.max(0, first))) {
    const end = index + word.length
    if (normaliseWords(text.slice(0, end)).join(' ') !== beginning) continue
    const { text: behind, careOf } = splitCareOf(text.slice(end))
    return readTextAround(behind, '', careOf)
  }
  return undefined
}
