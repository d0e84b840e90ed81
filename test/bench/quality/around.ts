/** Text around a name: trading names, places and notes, and words behind the legal form of another company. */
import { pick, type Random } from '../../support/random.ts'
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

/** Notes that explain themselves. */
const NOTES = (
  ' & Anor| and others| +353 1 234 5678| Tel: 01 234 5678| 0851234567| info@qxzkvw.ie| www.qxzkvw.ie| Invoice 12345|' +
  ' €500.00| VAT No. IE6388047V| LEI 529900T8BM49AURSDO55| formerly Qxzkvw Holdings Ltd| TA Zwkqx Fund| T/as Zwkqx|' +
  ' fka Zwkqx Ltd| prev. Zwkqx Ltd| d/b/a Zwkqx'
).split('|')
/** Words that explain themselves while no name of the register has them. */
const LISTED =
  ' Ireland|, Ireland| (IE)|, ROI| IRL|, Rep. of Ireland| - head office| Registered Office| Accounts Dept| FAO Accounts|' +
  ' Accounts Payable| (EUR)| - EUR| please| thanks| SEPA CT Ref 123456'
/** Text that nothing explains. */
const OTHER_TEXT = (
  ' ESOP| SPV| (Jordan Murphy)|, Edinburgh| (Delaware)| UKI| GmbH| S.r.l.| became Zwkqx| Irish Branch|' +
  ' (Healthcare)| Creditors| Hospital| previously owned by Zwkqx| / Bluebell Oak| est. 1987|' +
  ', 99 Zwkqx Road, Dublin 9|, Z99 Z999| Co| (formerly known as Zwkqx)| formerly Zwkqx now Qxzkvw| previously Mary Zwkqx|' +
  ' t/a Zwkqx on behalf of Qxzkvw Trustees| t/a Zwkqx formerly Qxzkvw Ltd| £1| $1,000.00| €2| 250 euro| 🅱| 🇬🇧|' +
  ' Accounts| Ireland 2| Northern Ireland| Sales Office'
).split('|')
/** Numbers and addresses of other countries, and those with a wrong check digit. */
const FOREIGN = (
  ' VAT GB123456789| VAT DE123456789| VAT IE0000000| IE6388047W| +44 20 7946 0000| Tel: +1 212 555 0100|' +
  ' GB29NWBK60161331926819| DE89370400440532013000| www.qxzkvw.co.uk| info@qxzkvw.de| https://www.qxzkvw.us/about|' +
  ' 0044 28 9012 3456'
).split('|')
/** Registers of other countries, with the number of the company in this one. */
const OTHER_REGISTERS = '. Registered in England No. #|. Registered in Northern Ireland, company no. #| NTRGB-#'

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
export const withListedWords = behindForm((random) => pick(random, LISTED.split('|')))
export const withOtherText = behindForm((random) => pick(random, OTHER_TEXT))
export const withForeignText = behindForm((random) => pick(random, FOREIGN))
export const withNumberOfOtherRegister = behindForm((random, { number }) =>
  pick(random, OTHER_REGISTERS.split('|')).replace('#', number),
)
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

/** The abbreviations of words in addresses. */
const ABBREVIATED = new Map(
  'AVENUE Ave,SQUARE Sq,LOWER Lr,HOUSE Hse,CENTRE Ctr,BUSINESS Bus,PARK Pk,INDUSTRIAL Ind,ESTATE Est,STREET St,ROAD Rd'
    .split(',')
    .map((pair) => pair.split(' ') as [string, string]),
)

/** The longest prefix of an address in a query. */
const ADDRESS_CHARACTERS = 70

/** The registered address, cut, in full or abbreviated; undefined if no line has a number and a word. */
export function withOwnAddress(random: Random, { name, addressLines }: BenchCompany): string | undefined {
  const [first = ''] = addressLines
  if (partsOf(name).form === undefined || !/\p{N}.*\p{L}{3}/u.test(first)) return undefined
  const address = addressLines.join(', ')
  const abbreviated = address.replace(/[A-Z]+/giu, (word) => ABBREVIATED.get(word.toUpperCase()) ?? word)
  const districts = abbreviated.replace(/dublin (?=[0-9])/giu, pick(random, ['D', 'D.']))
  return `${name}, ${pick(random, [first, abbreviated, districts, address]).slice(0, ADDRESS_CHARACTERS)}`
}

/** Only the town or county, after which other companies are named. */
export function withOwnTown(random: Random, { name, addressLines }: BenchCompany): string | undefined {
  const [town = '', county = ''] = (addressLines.at(-1) ?? '').split(',').map((part) => part.trim())
  const isTown =
    /^[\p{L} ]{3,}$/u.test(town) && !/road|park|street|estate|house|court|centre|quay|lane|^ireland$/iu.test(town)
  if (partsOf(name).form === undefined || !isTown) return undefined
  const places = [` (${town})`, `, ${town}`, ...(/^[A-Z]{4,}$/u.test(county) ? [`, ${town}, Co. ${county}`] : [])]
  return name + pick(random, places)
}

/** Its number in a footer, with a label, or as an identifier of a company. */
export function withOwnNumber(random: Random, { name, number }: BenchCompany): string | undefined {
  if (partsOf(name).form === undefined) return undefined
  return pick(random, [
    `${name} (CRO No. ${number})`,
    `${name}. Registered in Ireland No. ${number}`,
    `${name}, Reg. in Ireland: ${number}`,
    `${name}, registered in Ireland with company number ${number}`,
    `${name} CRN ${number}`,
    `${name} (No ${number})`,
    `${name} IECRO.${number}`,
    `IE-CRO-${number}`,
    `NTRIE-${number}`,
    `https://opencorporates.com/companies/ie/${number}`,
  ])
}

/** Text that only the Eircode of the company explains. */
export function withTextOfEircode(random: Random, { name, eircode }: BenchCompany): QueryInput | undefined {
  const { core, form } = partsOf(name)
  if (eircode === null || form === undefined) return undefined
  return pick(random, [
    { name: `${core} ${eircode}` },
    { name: `${core}, ${eircode}` },
    { name: `${name} c/o Zwkqx & Co, Main Street`, eircode },
    { name: `${name} c/o Zwkqx Accountants, ${eircode}` },
    { name: `c/o ${name}`, eircode },
  ])
}

/** Behind c/o stands the company that takes the post. Before it, nothing explains the agent. */
export function behindCareOf(random: Random, { name, eircode }: BenchCompany): QueryInput | undefined {
  const written = pick(random, [`Zwkqx c/o ${name}`, `Zwkqx Ltd, c/o ${name}`])
  return pick(random, [{ name: written, ...(eircode !== null && { eircode }) }, { name: `${name} c/o Zwkqx` }])
}

/** The number of the company, with a form of another class. */
export function withNumberAndOtherForm(random: Random, { name, number }: BenchCompany): QueryInput | undefined {
  const { core, form } = partsOf(name)
  if (form === undefined) return undefined
  const other = form === 'dac' ? 'Limited' : 'DAC'
  return pick(random, [
    { name: `${number} ${core} ${other}` },
    { name: `${core} ${other} (CRO ${number})` },
    { name: `${core} ${other}`, company_number: number },
  ])
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
