/**
 * The text behind the legal form of a query. Words that distinguish are a part of the name; other text is a note, which
 * is left out unless a company has it in its name (contract 12.10).
 */
import { normaliseWords, parseName } from '../../store/index/normalise-name.ts'
import { isAmbiguousForm } from '../../store/index/suffixes.ts'
import {
  COUNTY,
  hasLongCountry,
  isKindOrCountry,
  isNumberOrLetter,
  isStreet,
  isUnit,
  withoutNotes,
} from './typed-notes.ts'

export interface TextBehindForm {
  /** The words that the name of another company can have. */
  words: readonly string[]
  /** The words of the parts that distinguish, in their order. */
  distinguishing: readonly string[]
}

interface SplitText {
  /** The name up to its first legal form. */
  before: string
  /** Undefined when there is no text after it, or the name does not end before it. */
  behind: TextBehindForm | undefined
}

const WORD = /[\p{L}\p{N}]+/gu
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u
/** Introduces a trading name, which the register does not hold. */
const TRADING_AS = /(?:^|[^\p{L}\p{N}])(?:t\s?\/\s?as?|trading as)(?![\p{L}\p{N}])/iu
/** The same behind a legal form, where shorter notations are clear. */
const TRADING_BEHIND_FORM =
  /^[^\p{L}\p{N}]*(?:t\s?\/?\s?as?|tx|trading as)(?![\p{L}\p{N}]).*|(?:[^\p{L}\p{N}])(?:t\s?\/\s?as?|trading as)(?![\p{L}\p{N}]).*/isu
/** Introduces the name that the company had. */
const FORMER = /(?<![\p{L}\p{N}])(?:f\s?\/?\s?k\s?\/?\s?a|formerly|formally|previously)(?![\p{L}\p{N}])/iu
/** "Limited Edition", "Limited Liability Company", "PLC & Controls": the form is a part of the name. */
const CONTINUES_NAME = /^[^\p{L}\p{N}]*(?:[&+]|(?:and|agus|by|company|co|editions?|liability)(?![\p{L}\p{N}]))/iu

/** Reads a name up to its first legal form. A legal form that is also an ordinary word does not count. */
export function splitTextBehindForm(name: string): SplitText {
  const whole = { before: name, behind: undefined }
  let end: number | undefined
  let coreLength = Number.POSITIVE_INFINITY
  for (const { 0: word, index } of name.matchAll(WORD)) {
    const written = name.slice(0, index + word.length)
    const parsed = parseName(written)
    const isForm = parsed.suffix !== '' && !isAmbiguousForm(normaliseWords(written), parsed)
    // The longest notation of the first form: "Company Limited by Guarantee" instead of "Limited".
    if (!isForm || parsed.core.length > coreLength) continue
    end = index + word.length
    coreLength = parsed.core.length
  }
  if (end === undefined || !LETTER_OR_DIGIT.test(name.slice(end))) return whole
  const before = name.slice(0, end)
  const text = readTextBehindForm(name.slice(end), parseName(before).suffix)
  return text === undefined ? whole : { before, behind: text }
}

/** Undefined if the text continues the name. */
function readTextBehindForm(text: string, form: string): TextBehindForm | undefined {
  const withoutTrading = text.replace(TRADING_BEHIND_FORM, ' ').replace(COUNTY, ' county ')
  const [current = ''] = withoutTrading.split(FORMER)
  let rest = withoutNotes(current)
  if (CONTINUES_NAME.test(rest)) return undefined
  const repeated = parseName(`x ${rest}`)
  if (repeated.suffix !== '') {
    // "DAC (Designated Activity Company)". "Kerry Limited, Cork Limited" names two companies.
    if (repeated.core.length > 1 || repeated.suffix !== form) return undefined
    rest = ''
  }
  return {
    words: normaliseWords(repeated.suffix === '' ? withoutTrading : ''),
    distinguishing: listDistinguishing(rest),
  }
}

const PARTS = /[,;:()[\]|]|\s[-–—]\s/u

function listDistinguishing(text: string): string[] {
  return text.split(PARTS).flatMap((part, at) => {
    const words = normaliseWords(part)
    const isOfAddress = addressFilter(words, at > 0)
    const isDistinguishing = words.some(
      (word, position) => isKindOrCountry(word) || (isNumberOrLetter(word) && !isOfAddress(position)),
    )
    return isDistinguishing || hasLongCountry(words) ? words : []
  })
}

/** Tells whether the number or letter at a position belongs to an address. */
function addressFilter(words: readonly string[], isAfterOther: boolean): (position: number) => boolean {
  const isInStreet = words.length > 1 && words.some(isStreet)
  const [number = '', next = ''] = words
  // ", 5 Ballymore"
  const hasHouseNumber = isAfterOther && /^[0-9]{1,3}[a-z]?$/.test(number) && /^\p{L}{3}/u.test(next)
  return (position) =>
    isInStreet || isUnit(words[position - 1] ?? '') || (hasHouseNumber && position === 0 && !isNumberOrLetter(next))
}

/**
 * The company in "X T/A Y" and in "X formerly Y": the name before, or the one after "T/A" or "trading as" if only that
 * one has a legal form. The whole name without these words.
 */
export function splitTradingName(name: string): string {
  const [former = ''] = name.split(FORMER)
  const [trading] = TRADING_AS.exec(name) ?? []
  if (trading === undefined) return LETTER_OR_DIGIT.test(former) ? former : name
  const at = name.indexOf(trading)
  const [before, after] = [name.slice(0, at), name.slice(at + trading.length)]
  if (!LETTER_OR_DIGIT.test(before)) return name
  return parseName(before).suffix === '' && parseName(`x ${after}`).suffix !== '' && LETTER_OR_DIGIT.test(after)
    ? after
    : before
}
