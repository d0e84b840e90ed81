/** Text around a name: trading names, places and notes, and words behind the legal form of another company. */
import { pick, type Random } from '../../support/random.ts'
import type { QueryInput } from './classes.ts'
import { pickFragment } from './evidence.ts'
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

/** Notes that explain themselves. */
const NOTES = (
  ' & Anor| and others| +353 1 234 5678| Tel: 01 234 5678| 0851234567| info@qxzkvw.ie| www.qxzkvw.ie| Invoice 12345|' +
  ' €500.00| VAT No. IE6388047V| LEI 529900T8BM49AURSDO55| formerly Qxzkvw Holdings Ltd| (formerly known as Zwkqx)'
).split('|')
/** Text that nothing explains. */
const OTHER_TEXT = (
  ' ESOP| SPV| (Jordan Murphy)|, Edinburgh| (Delaware)| UKI| GmbH| S.r.l.| became Zwkqx| Irish Branch| - head office| Ireland|' +
  ' (Healthcare)| Creditors| Hospital| TA Zwkqx Fund| previously owned by Zwkqx| / Bluebell Oak| est. 1987| c/o Zwkqx|' +
  ', 99 Zwkqx Road, Dublin 9|, Z99 Z999| Co'
).split('|')

export type Behind = (random: Random, company: BenchCompany, register: ReferenceRegister) => string | undefined

/** Undefined for a name without a legal form, after which the text would be a part of the name. */
const behindForm =
  (textOf: (random: Random, company: BenchCompany) => string): Behind =>
  (random, company) =>
    partsOf(company.name).form === undefined ? undefined : company.name + textOf(random, company)

export const withNumber = behindForm((random) => ` ${pick(random, NUMBERS)}`)
export const withKind = behindForm((random) => ` ${pick(random, KINDS)}`)
export const withCountry = behindForm((random) => ` ${pick(random, COUNTRIES)}`)
export const withNote = behindForm((random) => pick(random, NOTES))
export const withOtherText = behindForm((random) => pick(random, OTHER_TEXT))
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

/** Undefined for a name without a legal form, after which the text could be a part of the name. */
export function withTradingName(random: Random, name: string): string | undefined {
  if (partsOf(name).form === undefined) return undefined
  const trade = pick(random, TRADE_NAMES)
  const written = [...TRADING_AS.map((between) => `${name}${between}${trade}`), `${name} (T/A ${trade})`]
  return pick(random, written)
}

/** A part of the registered address, or the number. */
export function withTextAfterForm(random: Random, { name, number, addressLines }: BenchCompany): string | undefined {
  const place = pickFragment(addressLines, random)
  if (partsOf(name).form === undefined || place === undefined) return undefined
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
