/** Text around a name: trading names, places and notes, and words behind the legal form of another company. */
import { below, pick, type Random } from '../../support/random.ts'
import type { QueryInput } from './classes.ts'
import { LEGAL_FORMS, partsOf } from './names.ts'
import type { BenchCompany, ReferenceRegister } from './register.ts'

const NUMBERS = '1|2|7|12|II|III|IV|No. 2|No 3|Number 4|A|B|(2)|(III)|2nd|Second|2019|(2021)|- 2|, 5|Two|61807'.split(
  '|',
)
const KINDS =
  'Holdings|(Holdings)|Group|Fund|Trust|Pension Scheme|Pension Fund|Retirement Trust|Partnership|- Group|, Holdings'.split(
    '|',
  )
const COUNTRIES =
  '(Jersey)|(UK)|Northern Ireland|(Isle of Man)|- Germany|USA|(Luxembourg)|, Scotland|(U.K.)|France Branch'.split('|')
const STREETS = ['Main Street', 'Ballymore Road', 'The Mews', 'Custom House Quay', 'Park Lane'] as const
const COUNTIES = ['Kerry', 'Cork', 'Mayo', 'Dublin', 'Offaly'] as const

const NOTES: readonly ((random: Random) => string)[] = [
  (random) => `, Co. ${pick(random, COUNTIES)}`,
  (random) => ` Co ${pick(random, COUNTIES)}`,
  (random) => `, County ${pick(random, COUNTIES)}`,
  (random) => ` (${pick(random, COUNTIES)})`,
  () => ' (Ireland)',
  () => ' Irish Branch',
  () => ' & Anor',
  () => ' and others',
  () => ' (in liquidation)',
  () => ' - head office',
  () => ' +353 1 234 5678',
  () => ' Tel: 01 234 5678',
  () => ' info@qxzkvw.ie',
  () => ' www.qxzkvw.ie',
  () => ', D02 X285',
  (random) => `, ${1 + below(random, 99)} ${pick(random, STREETS)}, Dublin ${1 + below(random, 24)}`,
  (random) => `, Unit ${1 + below(random, 30)}, ${pick(random, STREETS)}, ${pick(random, COUNTIES)}`,
  (random) => ` formerly ${pick(random, ['Qxzkvw', 'Zwkqx'])} Holdings Ltd`,
]

export type Behind = (random: Random, company: BenchCompany, register: ReferenceRegister) => string | undefined

/** Undefined for a name without a legal form, after which the text would be a part of the name. */
const behindForm =
  (textOf: (random: Random, company: BenchCompany) => string): Behind =>
  (random, company) =>
    partsOf(company.name).form === undefined ? undefined : company.name + textOf(random, company)

export const withNumber = behindForm((random) => ` ${pick(random, NUMBERS)}`)
export const withKind = behindForm((random) => ` ${pick(random, KINDS)}`)
export const withCountry = behindForm((random) => ` ${pick(random, COUNTRIES)}`)
export const withNote = behindForm((random) => pick(random, NOTES)(random))
export const withOtherNumber = behindForm((random, { number }) => ` (${pick(random, LABELS)} ${otherNumber(number)})`)

const LABELS = ['CRO', 'CRO No.', 'Company No.', 'Reg. No.', 'Company number:'] as const

/** With six digits, and far from the numbers of companies with the same name. */
function otherNumber(number: string): number {
  return ((Number(number) + 431_327) % 900_000) + 100_000
}

/** With the Eircode and a part of the address of the company. */
export const withEvidenceOf =
  (behind: Behind) =>
  (random: Random, company: BenchCompany, register: ReferenceRegister): QueryInput | undefined => {
    const name = behind(random, company, register)
    const address = company.addressLines[0]?.slice(0, 100)
    if (name === undefined || company.eircode === null || address === undefined) return undefined
    return { name, eircode: company.eircode, ...(/\p{L}{3}/u.test(address) && { address }) }
  }

/** Appends a word by which the longer name of another company differs. */
export function withWordsOfLongerName(
  random: Random,
  company: BenchCompany,
  register: ReferenceRegister,
): string | undefined {
  const words = register.addedWords(company.name)
  if (partsOf(company.name).form === undefined || words.length === 0) return undefined
  return `${company.name}${pick(random, [' (', ' - ', ', ', ' '])}${pick(random, words)}`
}

/** Writes the legal form cut short, or twice in two notations. */
export function formCutOrRepeated(random: Random, { name }: BenchCompany): string | undefined {
  const { core, form } = partsOf(name)
  if (form === undefined) return undefined
  if (form === 'dac')
    return `${core} ${pick(random, ['DESIGNATED ACTIVITY CO', 'Designated Activity Co.', 'DAC (Designated Activity Company)'])}`
  const [long = '', short = ''] = LEGAL_FORMS[form]
  return `${core} ${long} (${short})`
}

const TRADE_NAMES = ['THE CORNER SHOP', 'QUICKFIX', 'BLUE DOOR CAFE', 'CITY CARS', 'HARBOUR LIGHTS'] as const
const TRADING_AS = [' T/A ', ' t/a ', ' trading as ', '. T/A '] as const
const PLACES = ['RIVERSTICK', 'CORK', 'DUBLIN 2', 'HEAD OFFICE', 'MANOR ESTATE'] as const

/** Undefined for a name without a legal form, after which the text could be a part of the name. */
export function withTradingName(random: Random, name: string): string | undefined {
  if (partsOf(name).form === undefined) return undefined
  const trade = pick(random, TRADE_NAMES)
  const written = [...TRADING_AS.map((between) => `${name}${between}${trade}`), `${name} (T/A ${trade})`]
  return pick(random, written)
}

export function withTextAfterForm(random: Random, { name, number }: BenchCompany): string | undefined {
  if (partsOf(name).form === undefined) return undefined
  const place = pick(random, PLACES)
  return pick(random, [`${name} (${place})`, `${name} - ${place}`, `${name}, ${place}`, `${name} (CRO No. ${number})`])
}

export function andDropped(_random: Random, name: string): string | undefined {
  const { core } = partsOf(name)
  const dropped = core.replace(/\s*&\s*|\s+AND\s+/gi, ' ').trim()
  return dropped === core || dropped === '' ? undefined : name.replace(core, dropped)
}

/** Only the name after T/A has a legal form, so it is the company. */
export function afterTradingName(random: Random, name: string): string | undefined {
  if (partsOf(name).form === undefined) return undefined
  return `${pick(random, TRADE_NAMES)}${pick(random, TRADING_AS)}${name}`
}

export function withCompanyNumber(random: Random, { name, number }: BenchCompany): string | undefined {
  if (partsOf(name).form === undefined) return undefined
  return pick(random, [
    `${name} (Company No. ${number})`,
    `${name}, company number ${number}`,
    `${name} Company Reg. No. ${number}`,
    `${name} (Co. No. ${number})`,
    `${name} - company registration number: ${number}`,
  ])
}
