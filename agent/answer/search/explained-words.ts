/**
 * The words around the name of a query (contract 12.10). Each needs an explanation, because no list of the words that
 * make another company is complete.
 */
import type { Company } from '../../../store/dataset/company.ts'
import { equivalentsOf } from '../../../store/index/equivalents.ts'
import { AFTER, BEFORE, NO_LETTER } from '../../operation/typed-number.ts'
import { normaliseText, normaliseWords, parseName } from '../../../store/index/normalise-name.ts'
import { isNumeral } from '../../../store/index/spelling.ts'
import { FORM_ENDS, isAmbiguousForm, withoutLeadingForm } from '../../../store/index/suffixes.ts'

export interface TextAround {
  /** The words without trading and former names. The name of another company can have them. */
  words: readonly string[]
  /** Runs of words that only the record of the company can explain. */
  open: readonly (readonly string[])[]
}

const WORD = /[\p{L}\p{N}]+/gu
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u

/** Introduces a trading name, which the register does not hold. */
const TRADING_AS = String.raw`${BEFORE}(?:t\s?\/\s?a|trading as)${AFTER}`
/** Introduces the name that the company had. "Previously owned by" does not. */
const FORMER = String.raw`${BEFORE}(?:f\s?\/\s?k\s?\/\s?a|(?:formerly|previously)(?: known as|(?!\s+(?:(?:a|an|at|by|in|of|part)|\S+ by)${AFTER})))${AFTER}`
const INTRODUCTION = `(?:${TRADING_AS}|${FORMER})`
/** An introduced name ends at `,`, `;`, `|` or a bracket, a dash or slash between spaces, or the next introduction. */
const INTRODUCED = new RegExp(
  String.raw`${INTRODUCTION}(?:\s*[:–—-]\s*)?(?:(?!\s[-–—/]\s|${INTRODUCTION})[^,;()[\]|])*`,
  'giu',
)

/** Reads a name up to its first legal form, in its longest notation. A form that is also a word does not count. */
export function splitAfterForm(name: string): { before: string; behind: string } {
  let end = name.length
  let coreLength = Number.POSITIVE_INFINITY
  for (const { 0: word, index } of name.matchAll(WORD)) {
    const written = name.slice(0, index + word.length)
    // A single letter can be the last of "L.T.D."
    if (word.length > 1 && !FORM_ENDS.has(normaliseText(word))) continue
    const parsed = parseName(written)
    const isForm = parsed.suffix !== '' && !isAmbiguousForm(normaliseWords(written), parsed)
    if (!isForm || parsed.core.length > coreLength) continue
    end = index + word.length
    coreLength = parsed.core.length
  }
  const behind = name.slice(end)
  return LETTER_OR_DIGIT.test(behind) ? { before: name.slice(0, end), behind } : { before: name, behind: '' }
}

/** The company in "X T/A Y" and "X formerly Y": X, or after T/A Y if only Y has a legal form; and the text outside. */
export function splitTradingName(name: string): { named: string; outside: string } {
  const [trading, first] = [TRADING_AS, INTRODUCTION].map((source) => new RegExp(source, 'iu').exec(name))
  if (!first || !LETTER_OR_DIGIT.test(name.slice(0, first.index))) return { named: name, outside: '' }
  if (trading) {
    const [before, after] = [name.slice(0, trading.index), name.slice(trading.index + trading[0].length)]
    const isLast = parseName(before).suffix === '' && parseName(`x ${after}`).suffix !== ''
    if (isLast) return { named: after, outside: before }
  }
  return { named: name.slice(0, first.index), outside: name.slice(first.index) }
}

/** Between two runs of words. */
const BREAK = '\n'

/** Removes introduced names up to their legal form: `formerly Mill Ltd now Moulin Ltd` leaves `now Moulin Ltd`. */
function withoutIntroduced(text: string): string {
  return text.replace(INTRODUCED, (introduced) => BREAK + splitAfterForm(introduced).behind)
}

/** `form`: the class of the legal form before the text, which may be repeated at once: "Limited (Ltd)". */
export function readTextAround(text: string, form: string): TextAround {
  const current = withoutIntroduced(text)
  const runs = PATTERNS.reduce((left, replaceIn) => replaceIn(left), current)
    .split(BREAK)
    .map(normaliseWords)
  const [first = [], ...others] = runs
  const open = [withoutLeadingForm(first, form), ...others]
  return { words: normaliseWords(current), open: open.filter(({ length }) => length > 0) }
}

/** Whether the text has a name with a legal form of its own. */
export function hasOtherName(text: string): boolean {
  const { core, suffix } = parseName(`x ${withoutIntroduced(text)}`)
  return suffix !== '' && core.length > 1
}

export function explains(company: Company, { open }: TextAround): boolean {
  return open.every((words) => explainedWords(company, words).every(Boolean))
}

/**
 * Tells for each word whether the record explains it: as a whole part of the address between commas, as one of at least
 * two words from the beginning of a line, as Eircode or status. At every word the longest run is taken. Words that
 * `isNamed` are a part of the name.
 */
export function explainedWords(
  company: Company,
  words: readonly string[],
  isNamed: (word: string, at: number) => boolean = () => false,
): boolean[] {
  const phrases = phrasesOf(company)
  const explained: boolean[] = []
  while (explained.length < words.length) {
    const at = explained.length
    const lengths = phrases.map(({ words: wanted, least = wanted.length }) => {
      const other = wanted.findIndex((word, offset) => !isSameWord(words[at + offset], word))
      const length = other === -1 ? wanted.length : other
      return length < least || (length < wanted.length && !namesPlace(wanted.slice(0, length))) ? 0 : length
    })
    const longest = Math.max(...lengths)
    explained.push(...(longest === 0 ? [isNamed(words[at]!, at)] : Array.from({ length: longest }, () => true)))
  }
  return explained
}

function isSameWord(word = '', wanted: string): boolean {
  return word === wanted || equivalentsOf(word).has(wanted)
}

interface Phrase {
  words: readonly string[]
  /** The first words that suffice; by default all. */
  least?: number
}

const COUNTY = /^\s*co(?:unty)?(?![\p{L}\p{N}])/iu

function phrasesOf({ registered_address: { lines, eircode }, status, dissolved_date: dissolved }: Company): Phrase[] {
  const parts = lines.flatMap((line) => line.split(',')).map((part) => normaliseWords(part.replace(COUNTY, '')))
  const places = parts.filter(namesPlace).flatMap((place) => [place, ['co', ...place], ['county', ...place]])
  const [year, month, day] = dissolved?.split('-') ?? []
  const dates = dissolved === null ? [] : [`${year}`, dissolved, `${day} ${month} ${year}`]
  const isDissolved = dissolved !== null || /^dissolved/i.test(status ?? '')
  const texts = [
    ...(eircode === null ? [] : [eircode, eircode.replaceAll(' ', '')]),
    ...(status === null ? [] : [status, `in ${status}`]),
    ...(isDissolved ? ['', ...dates, ...dates.map((date) => `on ${date}`)].map((date) => `dissolved ${date}`) : []),
  ]
  return [
    ...lines.map((_, from) => ({ words: normaliseWords([...lines.slice(from), eircode].join(' ')), least: 2 })),
    ...[...places, ...texts.map(normaliseWords)].map((words) => ({ words })),
  ]
}

/** "No. 1" or "Ireland" of an address explains nothing, because it can be a part of the name of another company. */
function namesPlace(part: readonly string[]): boolean {
  const isOther = (word: string) => !isNumeral(word) && !/^(?:and|ireland|number|the)$/.test(word)
  return part.some((word) => word.length > 2 && [word, ...equivalentsOf(word)].every(isOther))
}

type Replace = (text: string) => string

/** Replaces what a pattern finds, if the check accepts it. */
function pattern(source: string, isValid: (found: string) => boolean = () => true): Replace {
  const expression = new RegExp(source, 'giu')
  return (text) => text.replace(expression, (found) => (isValid(found) ? BREAK : found))
}

const digitsOf = (text: string) => text.replace(/[^0-9]/g, '').length
const hasDigits = (least: number, most: number) => (text: string) => digitsOf(text) >= least && digitsOf(text) <= most
const NUMBER = `(?:registration|reg|number|no|nr|id)`
const LABELS = [
  String.raw`(?:invoice|inv|reference|ref|order|p\.?o\.?)${AFTER}${NO_LETTER}*(?:${NUMBER}${AFTER}${NO_LETTER}*)?`,
  String.raw`(?:customer|client|account|a\/c)${NO_LETTER}*(?:${NUMBER}|ref)${AFTER}${NO_LETTER}*`,
]
/** Check digits of IBAN and LEI are 02 to 98. */
const CHECK = '(?!0[01]|99)[0-9]{2}'
const AMOUNT = String.raw`[0-9](?:[0-9.,']*[0-9])?(?:k|m|bn)?`

const PATTERNS: readonly Replace[] = [
  // An e-mail or web address
  pattern(
    String.raw`(?:${BEFORE}(?:e-?mail|e|web(?:site)?|w)\s?[.:]\s*)?(?:https?:\/\/[^\s.]+\.\S+|${BEFORE}(?:www\.[^\s.]+\.\S+|[\w.+-]+@[\w.-]+\w|(?:[a-z0-9-]+\.)+(?:ie|com|net|org|eu|co\.uk)${AFTER}))`,
  ),
  pattern(
    String.raw`${BEFORE}(?:iban${NO_LETTER}*)?[A-Z]{2}${CHECK}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?${AFTER}`,
    (found) => isIban(found.replace(/^iban/iu, '').replace(/[^A-Z0-9]/giu, '')),
  ),
  pattern(
    String.raw`${BEFORE}(?:lei${NO_LETTER}*)?[A-Z0-9]{18}${CHECK}${AFTER}`,
    (found) => modulo97(found.slice(-20)) === 1,
  ),
  // A VAT number
  pattern(
    String.raw`${BEFORE}(?:vat${AFTER}${NO_LETTER}*(?:${NUMBER}${AFTER}${NO_LETTER}*)*[a-z]{0,2}\s?[0-9][0-9a-z+*]{4,12}|ie\s?[0-9][0-9a-z+*][0-9]{5}[a-w][a-i]?)${AFTER}`,
  ),
  pattern(String.raw`${BEFORE}(?:${LABELS.join('|')})[a-z]{0,4}[-/]?[0-9][\w/-]{2,}${AFTER}`),
  // "USD 2" can be the name of a series
  pattern(
    String.raw`(?:[€£$]|${BEFORE}(?:eur|gbp|usd))\s?${AMOUNT}${AFTER}|${BEFORE}${AMOUNT}\s?(?:[€£$]|(?:eur|gbp|usd|euros?)${AFTER})`,
    (found) => /[€£$]/.test(found) || digitsOf(found) >= 3,
  ),
  // A telephone number: with a label, international, Irish
  pattern(
    String.raw`${BEFORE}(?:telephone|tel|phone|ph|mobile|mob|fax|[tmpf](?=[.:]))${AFTER}[^\p{L}\p{N}+(]*[+(]?[0-9][0-9\s()./-]{4,}[0-9]${AFTER}`,
    hasDigits(6, 15),
  ),
  pattern(String.raw`(?:\+|${BEFORE}00)\s?\(?[1-9][0-9\s()./-]{6,}[0-9]${AFTER}`, hasDigits(8, 17)),
  pattern(
    String.raw`\(?${BEFORE}0[1-9][0-9]{0,2}\)?[\s/-]?[0-9]{3,4}[\s-]?[0-9]{3,4}(?:[\s-]?[0-9]{1,4})?${AFTER}`,
    hasDigits(9, 11),
  ),
  // "& others", "& Anor"
  pattern(String.raw`(?:[&+]|${BEFORE}and)\s*(?:others|ors|another|anor)${AFTER}`),
]

/** ISO 7064, as check digits of IBAN and LEI use it: letters are numbers from 10 on. */
function modulo97(text: string): number {
  let rest = 0
  for (const character of text) {
    const value = parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest
}

function isIban(text: string): boolean {
  return modulo97(text.slice(4) + text.slice(0, 4)) === 1
}
