/**
 * The text behind the legal form of a query. Words that distinguish are a part of the name; other text is a note, which
 * is left out unless a company has it in its name (contract 12.10).
 */
import { normaliseWords, parseName, normaliseText } from '../../store/index/normalise-name.ts'
import { isAmbiguousForm } from '../../store/index/suffixes.ts'
import { equivalentsOf } from '../../store/index/equivalents.ts'
import { TRADE_WORDS } from '../../store/index/trade-words.ts'
import { editDistance, isNumeral, toCodeUnits } from '../../store/index/spelling.ts'

export interface TextBehindForm {
  /** The words that the name of another company can have. */
  words: readonly string[]
  /** The words of the parts that distinguish, in their order. */
  distinguishing: readonly string[]
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
/** "Limited Edition", "Limited Liability Company", "PLC & Controls", but not "Limited Co. Kerry". */
const CONTINUES_NAME =
  /^[^\p{L}\p{N}]*(?:[&+]|(?:and|agus|by|company|co(?!\.?\s+(?!op|owner)\p{L})|editions?|liability)(?![\p{L}\p{N}]))/iu

/**
 * Reads a name up to its first legal form. A legal form that is also an ordinary word does not count. Without text
 * behind it, or if that text continues the name, `before` is the whole name.
 */
export function splitTextBehindForm(name: string): { before: string; behind: TextBehindForm | undefined } {
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
  const withoutTrading = text.replace(TRADING_BEHIND_FORM, ' ')
  const [current = ''] = withoutTrading.split(FORMER)
  let rest = NOTES.reduce((left, note) => left.replace(note, ' , '), current.replace(NORTHERN, ' northern ireland '))
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
      (word, position) =>
        // "Dublin Group", but not "Fund House"
        (isKind(word) && !STREETS.has(words[position + 1] ?? '')) ||
        ((isNumberOrLetter(word) || (at === 0 && isTrade(word))) && !isOfAddress(position)),
    )
    return isDistinguishing || namesPlaceAbroad(words) ? words : []
  })
}

/** Tells whether the number or letter at a position belongs to an address. */
function addressFilter(words: readonly string[], isAfterOther: boolean): (position: number) => boolean {
  const isInStreet = words.length > 1 && words.some((word) => STREETS.has(word))
  const [number = '', next = ''] = words
  // ", 5 Ballymore"
  const hasHouseNumber = isAfterOther && /^[0-9]{1,3}[a-z]?$/.test(number) && /^\p{L}{3}/u.test(next)
  return (position) =>
    isInStreet || UNITS.has(words[position - 1] ?? '') || (hasHouseNumber && position === 0 && !isNumberOrLetter(next))
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

const toSet = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

/** Companies of one group and funds differ in these words. */
const KINDS = toSet(`
  holding holdings hldg hldgs group grp gp fund funds trust trusts pension pensions scheme schemes partnership
  partnerships superannuation retirement now association charity club consortium credit foundation nominee nominees
  society syndicate trustee trustees
`)
/** A longer word may have one wrong letter, if the kind has at least so many. */
const MISSPELT_LETTERS_MIN = 5
const MISSPELT_KINDS = [...KINDS].filter(({ length }) => length >= MISSPELT_LETTERS_MIN).map(toCodeUnits)

/** Places outside the State that are not in Unicode's list of countries. "Down" alone can be a word of a name. */
const OTHER_PLACES = `
  america, antrim, armagh, belfast, britain, bvi, cayman, congo, czech republic, derry, dubai, england, fermanagh,
  great britain, holland, hong kong, korea, london, londonderry, macau, ni, northern ireland, nz, scotland, turkey,
  tyrone, uae, uk, us, usa, virgin islands, wales
`
const REGION_LETTERS = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ')
const REGION_NAMES = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
/** These and all countries other than Ireland, normalised. */
const PLACES_ABROAD = new Set([
  ...OTHER_PLACES.split(',').map((country) => country.trim().replace(/\s+/g, ' ')),
  ...REGION_LETTERS.flatMap((first) => REGION_LETTERS.map((second) => first + second))
    .filter((code) => code !== 'IE')
    .flatMap((code) => normaliseText(REGION_NAMES.of(code) ?? '') || []),
])

const isNumberOrLetter = (word: string) =>
  word.length === 1 || isNumeral(word) || [...equivalentsOf(word)].some(isNumeral)

function isKind(word: string): boolean {
  const isMisspelt = () => MISSPELT_KINDS.some((kind) => editDistance(toCodeUnits(word), kind, 1) <= 1)
  return KINDS.has(word) || (word.length > MISSPELT_LETTERS_MIN && isMisspelt())
}

/** "Kerrigan Ltd Properties", but not "Kerrigan Ltd (Properties)", which describes. */
const isTrade = (word: string) => TRADE_WORDS.has(word) && word !== 'ireland' && word !== 'irish'

/** Not "Belfast Road". */
function namesPlaceAbroad(words: readonly string[]): boolean {
  const text = ` ${words.filter((_, at) => !STREETS.has(words[at + 1] ?? '')).join(' ')} `
  return [...PLACES_ABROAD].some((place) => text.includes(` ${place} `))
}

/** A number or a letter after one of these words belongs to an address. */
const UNITS = toSet(`
  unit units suite apt apartment flat floor level block building bldg house room office offices box plot site bay dublin
`)
/** In a part of an address with one of these words, numbers and letters are those of the address. */
const STREETS = toSet(`
  avenue ave bridge building buildings centre center close court courtyard crescent cross dock docks drive estate floor
  gardens gate green grove heights hill house industrial lane lawn lodge mall manor mews park parade place plaza quay quays
  road rd row square st street strand terrace view village villas walk way wharf yard airport campus
`)

/** A county of Northern Ireland, written with `Co.` */
const NORTHERN =
  /(?<![\p{L}\p{N}])co(?:unty)?\b[^\p{L}\p{N}]*(?:antrim|armagh|(?:london)?derry|down|fermanagh|tyrone)(?![\p{L}\p{N}])/giu

/** Text with numbers and letters that are no part of a name. */
const NOTES: readonly RegExp[] = [
  /(?:[&+]|\band\b)\s*(?:an(?:or|other)|o(?:r|the)r)s?(?![\p{L}\p{N}])/giu,
  // A telephone number, with a word before it or a prefix.
  /(?<![\p{L}\p{N}])(?:tel|telephone|phone|ph|mob|mobile|fax|[tmpf](?=[.:]))\b[^\p{L}\p{N}+(]*[+(]?[0-9][0-9\s()./-]{4,}[0-9]/giu,
  /(?:\+|(?<![\p{L}\p{N}])00)\s?\(?[0-9][0-9\s()./-]{5,}[0-9]|\(?(?<![\p{L}\p{N}])0[0-9]{1,3}\)?[\s/-][0-9][0-9\s-]{4,}[0-9]/gu,
  // An Eircode, or a district as "D12".
  /(?<![\p{L}\p{N}])(?:[AC-FHKNPRTV-Y][0-9][0-9W]\s?[0-9AC-FHKNPRTV-Y]{4}|d(?:6w|0?[1-9]|1[0-9]|2[0-4]))(?![\p{L}\p{N}])/giu,
  // A VAT number, or a reference with a label.
  /(?<![\p{L}\p{N}])(?:ie\s?[0-9][0-9a-z+*][0-9]{5}[a-w][a-i]?|(?:vat|iban|inv(?:oice)?|ref(?:erence)?|order|po|customer|est|since)\b[^\p{L}\p{N}]*(?:(?:reg|no|number|ie)\b[^\p{L}\p{N}]*)*[a-z]{0,4}[0-9]\w{2,})(?![\p{L}\p{N}])/giu,
  // An e-mail or web address, "c/o", a post box.
  /(?<![\p{L}\p{N}])(?:[ew][.:]\s*)?(?:https?:\/\/\S+|www\.\S+|[\w.+-]+@[\w.-]+|[a-z0-9-]+\.(?:ie|com|net|org|eu|co\.uk)(?![\p{L}\p{N}]))/giu,
  /(?<![\p{L}\p{N}])(?:c\/o(?![\p{L}\p{N}])|p\.?\s?o\.?\s?box\s*[0-9]*)/giu,
]
