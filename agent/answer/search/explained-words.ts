/**
 * What explains the words around a name (contract 12.10). Each needs an explanation, because no list of the words that
 * make another company is complete.
 */
import type { Company } from '../../../store/dataset/company.ts'
import { equivalentsOf } from '../../../store/index/equivalents.ts'
import { normaliseWords, parseName } from '../../../store/index/normalise-name.ts'
import { splitAttachedSuffix } from '../../../store/index/suffixes.ts'
import { IRELAND } from '../../operation/typed-number.ts'
import { hasOwnAddress, identifiesAddress, longestRun, readAddress, type OwnAddress } from './own-address.ts'
import { findEircodes } from './identified-text.ts'
import type { Register } from './register.ts'
import type { TextAround } from './text-around.ts'

type Phrase = readonly string[]

const toPhrases = (texts: readonly string[]): readonly Phrase[] => texts.map((text) => text.split(' '))
const listed = (texts: string) => toPhrases(texts.split(','))

// Each list has the phrases of one kind, which explain themselves behind a legal form. While a name of the register has
// them behind the name of the company, both are candidates.

/** The country of the register. */
const COUNTRY = toPhrases(IRELAND.flatMap((name) => [name, `registered in ${name}`, `incorporated in ${name}`]))

/** The departments and offices to which letters and invoices are addressed. */
const DEPARTMENTS = [
  ...listed('head office,registered office,accounts payable,accounts receivable,fao accounts,fao finance,fao payroll'),
  ...['accounts', 'accounts payable', 'accounts receivable', 'finance', 'payroll', 'purchasing'].flatMap((name) =>
    toPhrases(['dept', 'department'].flatMap((word) => [`${name} ${word}`, `fao ${name} ${word}`])),
  ),
  ...listed('fao accounts payable,fao accounts receivable'),
]

/** The currency of the account, which invoicing programs add. */
const CURRENCY = listed('eur')

/** Words of courtesy. */
const COURTESY = listed('please,thanks,thank you,many thanks,with thanks,kind regards,regards')

const LISTED = new Map<string, Phrase[]>()
for (const phrase of [...COUNTRY, ...DEPARTMENTS, ...CURRENCY, ...COURTESY]) {
  const first = phrase[0]!
  LISTED.set(first, [...(LISTED.get(first) ?? []), phrase])
}

/** What else is known about the company that the text is about. */
export interface KnownEvidence {
  /** Canonical: seven characters without spaces. */
  eircode?: string | undefined
  address?: string | undefined
  /** Whether its number was given. */
  hasNumber?: boolean
}

/** `likely`: the record explains the text, but without a legal form it can be a part of another name. */
export type Explanation = 'certain' | 'likely' | 'none'

/** Whether every word around the name is explained for the company. */
export function explain(register: Register, company: Company, around: TextAround, known: KnownEvidence): Explanation {
  const { eircode, lines } = company.registered_address
  const own = eircode?.replaceAll(' ', '')
  const isOfRecord = (typed: string) => typed === own || findEircodes(lines.join('\n')).includes(typed)
  if (around.introduced > 1 || !around.eircodes.every(isOfRecord)) return 'none'
  const isOwnEircode = own !== undefined && [known.eircode, ...around.eircodes, ...around.agentEircodes].includes(own)
  const isKnown = isOwnEircode || known.hasNumber === true
  if (around.hasForm) return isExplained(register, company, around, { ...known, isKnown }) ? 'certain' : 'none'
  // Without a legal form: the record, and numbers that are a part of no name.
  if (around.introduced > 0 || around.hasOther || (around.careOf !== undefined && !isOwnEircode)) return 'none'
  const address = readAddress(company)
  const runs = around.open.map((words) => readRun(words, { address, phrases: [] }))
  if (!runs.every(({ explained }) => explained.every(Boolean))) return 'none'
  const isPlaced = around.open.length === 0 || identifiesAddress(runs.flatMap(({ parts }) => parts))
  const isIdentified = isOwnEircode || (around.hasIdentity && around.open.length === 0)
  return isPlaced && isIdentified ? 'certain' : 'likely'
}

function isExplained(
  register: Register,
  company: Company,
  { open, formerNames, domains, careOf }: TextAround,
  { isKnown, address: given = '' }: KnownEvidence & { isKnown: boolean },
): boolean {
  if (!formerNames.every((name) => isFormerName(register, name))) return false
  if (!domains.every((domain) => mayBeDomainOf(register, company, domain))) return false
  if (open.length === 0 && careOf === undefined) return true
  const address = readAddress(company)
  const phrases = phrasesOf(company)
  const runs = open.map((words) => readRun(words, { address, phrases, byFirstWord: LISTED }))
  if (!runs.every(({ explained }) => explained.every(Boolean))) return false
  const parts = runs.flatMap((run) => run.parts)
  if (isKnown || identifiesAddress(parts)) return true
  const isOfAgent = careOf !== undefined && ![careOf, given].some((text) => hasOwnAddress(address, text))
  return parts.length === 0 && !isOfAgent
}

/** A name with a legal form, or of the register. "Previously Mary Murphy" can be said of a person. */
function isFormerName({ names, withheld }: Register, written: string): boolean {
  const { core, suffix } = parseName(written)
  return core.length > 0 && (suffix !== '' || names.findExact(core).some((position) => position !== withheld))
}

/** Whether a domain is the name of no other company of the register. */
function mayBeDomainOf({ names, withheld }: Register, { company_number: own }: Company, domain: string): boolean {
  const { core } = splitAttachedSuffix({ core: [domain], suffix: '' })
  const keys = [domain, core.join('')].flatMap((key) => [key, key.replace('and', ''), key.replaceAll('and', '')])
  const found = keys
    .flatMap((key) => (key === '' ? [] : names.findJoined(key)))
    .filter((position) => position !== withheld)
  return found.length === 0 || found.some((position) => names.companyNumber(position) === own)
}

/**
 * Tells for each word whether the record of the company explains it. Words that `isNamed` are a part of the name, which
 * is given with its number.
 */
export function explainedWords(
  company: Company,
  words: readonly string[],
  isNamed: (word: string, at: number) => boolean,
): boolean[] {
  return readRun(words, { address: readAddress(company), phrases: phrasesOf(company), isNamed }).explained
}

interface RunOptions {
  address: OwnAddress
  phrases: readonly Phrase[]
  byFirstWord?: ReadonlyMap<string, readonly Phrase[]>
  isNamed?: (word: string, at: number) => boolean
}

/** At every word the longest phrase or run of the address is taken. */
function readRun(words: readonly string[], { address, phrases, byFirstWord, isNamed = () => false }: RunOptions) {
  const explained: boolean[] = []
  const parts: OwnAddress['parts'][number][] = []
  let isInAddress = false
  while (explained.length < words.length) {
    const at = explained.length
    const run = longestRun(address, words, { at, isInAddress })
    const possible = [...phrases, ...(byFirstWord?.get(words[at]!) ?? [])]
    const longest = possible.reduce((most, phrase) => Math.max(most, matchedLength(phrase, words, at)), 0)
    if (run.length >= longest) parts.push(...run.parts)
    const length = Math.max(longest, run.length)
    isInAddress = length > 0 && run.length >= longest
    explained.push(...(length === 0 ? [isNamed(words[at]!, at)] : Array.from({ length }, () => true)))
  }
  return { explained, parts }
}

function matchedLength(phrase: Phrase, words: readonly string[], at: number): number {
  return phrase.every((word, offset) => isSameWord(words[at + offset], word)) ? phrase.length : 0
}

function isSameWord(word = '', wanted: string): boolean {
  return word === wanted || equivalentsOf(word).has(wanted)
}

/** The Eircode, the status, and the dissolution with its date or year. */
function phrasesOf({ registered_address: { eircode }, status, dissolved_date: dissolved }: Company): Phrase[] {
  const [year, month, day] = dissolved?.split('-') ?? []
  const dates = dissolved === null ? [] : [`${year}`, dissolved, `${day} ${month} ${year}`]
  const isDissolved = dissolved !== null || /^dissolved/i.test(status ?? '')
  const texts = [
    ...(eircode === null ? [] : [eircode, eircode.replaceAll(' ', '')]),
    ...(status === null ? [] : [status, `in ${status}`]),
    ...(isDissolved ? ['', ...dates, ...dates.map((date) => `on ${date}`)].map((date) => `dissolved ${date}`) : []),
  ]
  return texts.map(normaliseWords)
}
