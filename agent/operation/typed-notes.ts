/**
 * What people type behind a name: words that distinguish companies, addresses, and notes such as a telephone number.
 */
import { equivalentsOf } from '../../store/index/equivalents.ts'
import { normaliseText } from '../../store/index/normalise-name.ts'
import { editDistance, isNumeral, toCodeUnits } from '../../store/index/spelling.ts'

const toSet = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

/** Companies of one group and funds differ in these words. */
const KINDS = toSet(`
  holding holdings hldg hldgs group grp gp fund funds trust trusts pension pensions scheme schemes partnership
  partnerships superannuation retirement now
`)
/** In a longer word of this list, one wrong letter is accepted. */
const MISSPELT_LETTERS_MIN = 5

/** Countries in other notations than those of Unicode, and parts of countries. */
const OTHER_COUNTRIES = `
  america, britain, bvi, congo, czech republic, dubai, england, great britain, holland, hong kong, korea, macau, ni,
  northern ireland, nz, scotland, turkey, uae, uk, us, usa, virgin islands, wales
`
const REGION_LETTERS = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ')
const REGION_NAMES = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
/** All countries other than Ireland, normalised. */
const COUNTRIES = new Set([
  ...OTHER_COUNTRIES.split(',').map((country) => country.trim().replace(/\s+/g, ' ')),
  ...REGION_LETTERS.flatMap((first) => REGION_LETTERS.map((second) => first + second))
    .filter((code) => code !== 'IE')
    .flatMap((code) => normaliseText(REGION_NAMES.of(code) ?? '')),
])
COUNTRIES.delete('')
const LONG_COUNTRIES = [...COUNTRIES].filter((country) => country.includes(' '))

/** A numeral, a number in words, or a letter. */
export function isNumberOrLetter(word: string): boolean {
  return word.length === 1 || isNumeral(word) || [...equivalentsOf(word)].some(isNumeral)
}

/** A word of a kind of company, or a country. */
export function isKindOrCountry(word: string): boolean {
  if (KINDS.has(word) || COUNTRIES.has(word)) return true
  return word.length > MISSPELT_LETTERS_MIN && [...KINDS].some((kind) => isMisspelt(word, kind))
}

function isMisspelt(word: string, kind: string): boolean {
  return kind.length >= MISSPELT_LETTERS_MIN && editDistance(toCodeUnits(word), toCodeUnits(kind), 1) <= 1
}

/** Whether the words name a country by several words. */
export function hasLongCountry(words: readonly string[]): boolean {
  const text = ` ${words.join(' ')} `
  return LONG_COUNTRIES.some((country) => text.includes(` ${country} `))
}

/** A number or a letter after one of these words belongs to an address. */
const UNITS = toSet(`
  unit units suite apt apartment flat floor level block building bldg house room office offices box plot site bay dublin
`)
/** In a part of an address with one of these words, numbers and letters are those of the address. */
const STREETS = toSet(`
  avenue ave bridge building buildings centre center close court courtyard crescent cross dock docks drive estate floor
  gardens gate green grove heights hill house industrial lane lawn lodge mall manor mews park parade place plaza quay quays
  road rd row square st street strand terrace view village villas walk way wharf yard
`)

export function isUnit(word: string): boolean {
  return UNITS.has(word)
}

export function isStreet(word: string): boolean {
  return STREETS.has(word)
}

const COUNTIES =
  'antrim armagh carlow cavan clare cork derry donegal down dublin fermanagh galway kerry kildare kilkenny laois leitrim ' +
  'limerick longford louth mayo meath monaghan offaly roscommon sligo tipperary tyrone waterford westmeath wexford wicklow'

/** `Co. Kerry` */
export const COUNTY = new RegExp(
  String.raw`(?<![\p{L}\p{N}])co\b[^\p{L}\p{N}]*(?=(?:${COUNTIES.replaceAll(' ', '|')})(?![\p{L}\p{N}]))`,
  'giu',
)

/** Text with numbers and letters that are no part of a name. */
const NOTES: readonly RegExp[] = [
  /(?:[&+]|\band\b)\s*(?:an(?:or|other)|o(?:r|the)r)s?(?![\p{L}\p{N}])/giu,
  // A telephone number, with a word before it or a prefix.
  /(?<![\p{L}\p{N}])(?:tel|telephone|phone|ph|mob|mobile|fax|[tmpf](?=[.:]))\b[^\p{L}\p{N}+(]*[+(]?[0-9][0-9\s()./-]{4,}[0-9]/giu,
  /(?:\+|(?<![\p{L}\p{N}])00)\s?\(?[0-9][0-9\s()./-]{5,}[0-9]|\(?(?<![\p{L}\p{N}])0[0-9]{1,3}\)?[\s/-][0-9][0-9\s-]{4,}[0-9]/gu,
  // An Eircode, an e-mail or web address, "c/o", a post box.
  /(?<![\p{L}\p{N}])[AC-FHKNPRTV-Y][0-9][0-9W]\s?[0-9AC-FHKNPRTV-Y]{4}(?![\p{L}\p{N}])/giu,
  /(?<![\p{L}\p{N}])(?:[ew][.:]\s*)?(?:https?:\/\/\S+|www\.\S+|[\w.+-]+@[\w.-]+|[a-z0-9-]+\.(?:ie|com|net|org|eu|co\.uk)(?![\p{L}\p{N}]))/giu,
  /(?<![\p{L}\p{N}])(?:c\/o(?![\p{L}\p{N}])|p\.?\s?o\.?\s?box\s*[0-9]*)/giu,
]

export function withoutNotes(text: string): string {
  return NOTES.reduce((rest, note) => rest.replace(note, ' , '), text)
}
