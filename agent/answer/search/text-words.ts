/** Words in the text behind a legal form: those that distinguish a company from another, and those of addresses. */
import { equivalentsOf } from '../../../store/index/equivalents.ts'
import { editDistance, isNumeral, toCodeUnits } from '../../../store/index/spelling.ts'

const toSet = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

/** Companies of one group and funds differ in these words. */
const KINDS = toSet(`
  holding holdings hldg hldgs group grp gp fund funds trust trusts pension pensions scheme schemes partnership
  partnerships superannuation retirement now
`)
/** In a longer word of this list, one wrong letter is accepted. */
const MISSPELT_LETTERS_MIN = 5

/** Countries other than Ireland, and their parts, as normalised words. */
const COUNTRIES = `
  afghanistan, albania, algeria, america, andorra, angola, anguilla, antigua, argentina, armenia, aruba, australia,
  austria, azerbaijan, bahamas, bahrain, bangladesh, barbados, belarus, belgium, belize, benin, bermuda, bhutan, bolivia,
  bosnia, botswana, brazil, britain, brunei, bulgaria, burundi, bvi, cambodia, cameroon, canada, cape verde, cayman,
  cayman islands, chad, channel islands, chile, china, colombia, comoros, congo, costa rica, croatia, cuba, curacao,
  cyprus, czechia, czech republic, denmark, djibouti, dominica, dubai, ecuador, egypt, el salvador, england, eritrea,
  estonia, eswatini, ethiopia, faroe islands, fiji, finland, france, gabon, gambia, georgia, germany, ghana, gibraltar,
  great britain, greece, greenland, grenada, guatemala, guernsey, guinea, guyana, haiti, holland, honduras, hong kong,
  hongkong, hungary, iceland, india, indonesia, iran, iraq, isle of man, israel, italy, ivory coast, jamaica, japan,
  jersey, jordan, kazakhstan, kenya, korea, kosovo, kuwait, kyrgyzstan, laos, latvia, lebanon, lesotho, liberia, libya,
  liechtenstein, lithuania, luxembourg, macau, macedonia, madagascar, malawi, malaysia, maldives, mali, malta, mauritania,
  mauritius, mexico, moldova, monaco, mongolia, montenegro, morocco, mozambique, myanmar, namibia, nepal, netherlands,
  new zealand, nicaragua, niger, nigeria, ni, northern ireland, norway, nz, oman, pakistan, palestine, panama, paraguay,
  peru, philippines, poland, portugal, puerto rico, qatar, romania, russia, rwanda, samoa, san marino, saudi arabia,
  scotland, senegal, serbia, seychelles, sierra leone, singapore, slovakia, slovenia, somalia, south africa, spain,
  sri lanka, sudan, suriname, sweden, switzerland, syria, taiwan, tajikistan, tanzania, thailand, togo, tonga, trinidad,
  tunisia, turkey, turkiye, turkmenistan, uae, uganda, uk, ukraine, united arab emirates, united kingdom, united states,
  uruguay, us, usa, uzbekistan, vanuatu, venezuela, vietnam, virgin islands, wales, yemen, zambia, zimbabwe
`
const COUNTRY_PHRASES = COUNTRIES.split(',').map((country) => country.trim().replace(/\s+/g, ' '))
const COUNTRY_WORDS = new Set(COUNTRY_PHRASES.filter((country) => !country.includes(' ')))
const LONG_COUNTRIES = COUNTRY_PHRASES.filter((country) => country.includes(' '))

/** A numeral, a number in words, or a letter. */
export function isNumberOrLetter(word: string): boolean {
  return word.length === 1 || isNumeral(word) || [...equivalentsOf(word)].some(isNumeral)
}

/** A word of a kind of company, or a country. */
export function isKindOrCountry(word: string): boolean {
  if (KINDS.has(word) || COUNTRY_WORDS.has(word)) return true
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
