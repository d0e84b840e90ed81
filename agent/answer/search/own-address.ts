/** The registered address of a company in one notation, and the parts of it that a text repeats (contract 12.10). */
import type { Company } from '../../../store/dataset/company.ts'
import { equivalentsOf } from '../../../store/index/equivalents.ts'
import { normaliseWords } from '../../../store/index/normalise-name.ts'
import { isNumeral } from '../../../store/index/spelling.ts'
import { AFTER, BEFORE } from '../../operation/typed-number.ts'

/** The words that name a street, a building or a part of one, with the abbreviations that postal addresses use. */
const LINE_WORDS = `
  apartment apt, avenue ave av, block blk, boulevard blvd, building bldg, business bus, centre ctr center, close cl,
  court ct, crescent cres, drive dr, estate est, floor flr fl, gardens gdns, grove gr, heights hts, house hse,
  industrial ind, lane ln, mall, mews, park pk, place pl, quay, road rd, street st str, square sq, suite, terrace tce terr,
  unit, walk, way
`
/** Other words of addresses. */
const OTHER_WORDS = 'lower lr lwr, mount mt, north nth, number no, saint st, south sth, upper upr'
const COUNTIES = `
  antrim armagh carlow cavan clare cork derry donegal down dublin fermanagh galway kerry kildare kilkenny laois leitrim
  limerick longford louth mayo meath monaghan offaly roscommon sligo tipperary tyrone waterford westmeath wexford wicklow
`
const COUNTY_NAMES: ReadonlySet<string> = new Set(COUNTIES.trim().split(/\s+/))

/** By word, its one notation. `St` is both Street and Saint. */
const NOTATIONS = new Map<string, string>()
for (const group of `${LINE_WORDS}, ${OTHER_WORDS}`.split(',')) {
  const words = group.trim().split(/\s+/)
  const known = words.map((word) => NOTATIONS.get(word)).find((each) => each !== undefined)
  for (const word of words) NOTATIONS.set(word, known ?? words[0]!)
}
const LINE_NOTATIONS: ReadonlySet<string> = new Set(
  LINE_WORDS.split(',').map((group) => NOTATIONS.get(group.trim().split(/\s+/)[0]!)!),
)

/** The notation of `Saint` and `Street`. */
const SAINT = NOTATIONS.get('saint')!

const DISTRICT = new RegExp(String.raw`${BEFORE}(?:dublin|d)[.\s]*0?([1-9][0-9]?w?)${AFTER}`, 'giu')
const COUNTY = new RegExp(String.raw`${BEFORE}co(?:unty)?[.\s]+(?=(?:${[...COUNTY_NAMES].join('|')})${AFTER})`, 'giu')

/** `D.2` is `Dublin 2`, `Co. Kerry` is `Kerry`. */
export function unifyAddress(text: string): string {
  return text.replace(DISTRICT, 'Dublin $1').replace(COUNTY, '')
}

function unifyWord(word: string): string {
  return NOTATIONS.get(word) ?? word
}

const unifiedWords = (text: string) => normaliseWords(unifyAddress(text)).map(unifyWord)

/** Whether an address contains a fragment, as whole words in any notation. */
export function containsWords(address: string, fragment: string): boolean {
  return ` ${unifiedWords(address).join(' ')} `.includes(` ${unifiedWords(fragment).join(' ')} `)
}

/** A part between commas. `line`: a street or building; `none`: it explains nothing, such as `Ireland`. */
interface Part {
  start: number
  end: number
  text: string
  kind: 'line' | 'town' | 'county' | 'none'
}

export interface OwnAddress {
  words: readonly string[]
  parts: readonly Part[]
}

export function readAddress({ registered_address: { lines } }: Company): OwnAddress {
  const words: string[] = []
  const parts: Part[] = []
  for (const each of unifyAddress(lines.join(',')).split(',')) {
    const own = normaliseWords(each).map(unifyWord)
    if (own.length === 0) continue
    parts.push({ start: words.length, end: words.length + own.length, text: own.join(' '), kind: kindOf(own) })
    words.push(...own)
  }
  return { words, parts }
}

function kindOf(words: readonly string[]): Part['kind'] {
  if (!namesPlace(words)) return 'none'
  if (words.length === 1 && COUNTY_NAMES.has(words[0]!)) return 'county'
  const isDistrict = words.length === 2 && words[0] === 'dublin'
  // "St. Johnston" is a town.
  const isOfLine = (word: string, at: number) =>
    isNumeral(word) || (LINE_NOTATIONS.has(word) && (at > 0 || word !== SAINT))
  return !isDistrict && words.some(isOfLine) ? 'line' : 'town'
}

/** "No. 1" or "Ireland" of an address explains nothing, because it can be a part of the name of another company. */
function namesPlace(words: readonly string[]): boolean {
  const isOther = (word: string) => !isNumeral(word) && !/^(?:and|ireland|number|the)$/.test(word)
  return words.some((word) => word.length > 2 && [word, ...equivalentsOf(word)].every(isOther))
}

/** Words of a text that repeat the address. */
interface AddressRun {
  length: number
  /** The parts that they name. */
  parts: readonly Part[]
}

/**
 * The longest run of words from `at` on that is a part of the address, or two words or more from the beginning of a
 * part. The last word of the text may be cut. `isInAddress`: such a run ends at `at`.
 */
export function longestRun(
  { words: own, parts }: OwnAddress,
  words: readonly string[],
  { at, isInAddress }: { at: number; isInAddress: boolean },
): AddressRun {
  let longest: AddressRun = { length: 0, parts: [] }
  for (const { start } of parts) {
    let length = 0
    while (at + length < words.length && own[start + length] === unifyWord(words[at + length]!)) length += 1
    const isLast = (length > 0 || isInAddress) && at + length === words.length - 1
    const isCut = isLast && own[start + length]?.startsWith(words[at + length]!) === true
    if (isCut) length += 1
    if (length <= longest.length) continue
    const end = start + length
    const isWhole = length > 1 || isCut || parts.some((part) => part.end === end)
    if (!isWhole || !(isInAddress || namesPlace(own.slice(start, end)))) continue
    const isNamed = (part: Part) =>
      Math.min(end, part.end) - Math.max(start, part.start) >= Math.min(2, part.text.split(' ').length)
    longest = { length, parts: parts.filter(isNamed) }
  }
  return longest
}

/**
 * * Whether the parts are those of one company: a street or building, or two places beside the county. Companies are
 * named after their town and their county.
 */
export function identifiesAddress(parts: Iterable<Part>): boolean {
  const named = [...parts].filter(({ kind }) => kind === 'line' || kind === 'town')
  return named.some(({ kind }) => kind === 'line') || new Set(named.map(({ text }) => text)).size > 1
}

/** Whether a text has such parts anywhere. */
export function hasOwnAddress(address: OwnAddress, text: string): boolean {
  const words = normaliseWords(unifyAddress(text))
  return identifiesAddress(words.flatMap((_, at) => longestRun(address, words, { at, isInAddress: false }).parts))
}
