/** Text behind the legal form: words that make another company, notes, and company numbers. */
import { below, pick, type Random } from '../../support/random.ts'
import type { QueryInput } from './classes.ts'
import { LEGAL_FORMS, partsOf } from './names.ts'
import type { BenchCompany, ReferenceRegister } from './register.ts'
import { findNeighbour } from './sample.ts'

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

/** A word behind the form that another company has before its form. */
export function withWordOfSibling(
  random: Random,
  company: BenchCompany,
  register: ReferenceRegister,
): string | undefined {
  const words = register.addedWords(company.name)
  if (partsOf(company.name).form === undefined || words.length === 0) return undefined
  return `${company.name}${pick(random, [' (', ' - ', ', ', ' '])}${pick(random, words)}`
}

/** A space moved by one letter, with the Eircode of a company with a similar name. */
export function withEircodeOfNeighbour(
  random: Random,
  { name, number }: BenchCompany,
  register: ReferenceRegister,
): QueryInput | undefined {
  const neighbour = register.withNumber(findNeighbour(name, register) ?? '')
  const { core, surface } = partsOf(name)
  const spaces = [...core.matchAll(/(?<=\p{L}) (?=[\p{L}\p{N}])/gu)].map(({ index }) => index)
  // The letters of a removed company are those of none.
  if (!neighbour?.eircode || spaces.length === 0 || !register.withNumber(number)) return undefined
  const at = pick(random, spaces)
  const moved = `${core.slice(0, at)}${core.charAt(at + 1)} ${core.slice(at + 2)}`
  return { name: `${moved} ${surface}`, eircode: neighbour.eircode }
}

/** Another notation of the form that is cut or repeated. */
export function formCutOrRepeated(random: Random, { name }: BenchCompany): string | undefined {
  const { core, form } = partsOf(name)
  if (form === undefined) return undefined
  if (form === 'dac')
    return `${core} ${pick(random, ['DESIGNATED ACTIVITY CO', 'Designated Activity Co.', 'DAC (Designated Activity Company)'])}`
  const [long = '', short = ''] = LEGAL_FORMS[form]
  return `${core} ${long} (${short})`
}

const TYPED: readonly ((number: string) => string)[] = [
  (number) => number,
  (number) => `IE${number}`,
  (number) => `#${number}`,
  (number) => `CRO ${number}`,
  (number) => `Company No. ${number}`,
  (number) => `${number}.0`,
  (number) => Number(number).toLocaleString('en'),
  (number) => number.padStart(7, '0'),
]

/** Shorter numbers name no company without a label. */
const NUMBER_DIGITS_MIN = 5

export function asNumber(random: Random, { number }: BenchCompany): string | undefined {
  return number.length < NUMBER_DIGITS_MIN ? undefined : pick(random, TYPED)(number)
}

export function besideNumber(random: Random, { name, number }: BenchCompany): string | undefined {
  const { core } = partsOf(name)
  if (number.length < NUMBER_DIGITS_MIN) return undefined
  return pick(random, [`${number} ${core}`, `${core} ${number}`, `${name} ${number}`, `CRO ${number} ${name}`])
}

/** The number, with a name that was cut, has a note, or stands in an address. */
export function numberWithPartOfName(random: Random, company: BenchCompany): QueryInput {
  const { name, number, addressLines } = company
  const written = pick(random, [
    name.slice(0, 35),
    name.slice(0, Math.ceil(name.length * 0.8)),
    `${name} (In Liquidation), Dublin 2`,
    name.replace(/\s*\(?\bIRELAND\b\)?/iu, ''),
    `${partsOf(name).core} ${addressLines.join(' ')}`.slice(0, 150),
    name.replaceAll('&', '&amp;'),
  ])
  return { name: written, company_number: number }
}

/** As it is copied from the web: a page of a company, or with escapes of URLs or HTML. */
export function asCopied(random: Random, { name, number }: BenchCompany): string {
  const { core } = partsOf(name)
  const words = core.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
  const inHtml = name.replaceAll('&', '&amp;').replace(/[ÁÉÍÓÚáéíóú]/gu, (letter) => {
    return `&${letter.normalize('NFD').charAt(0)}acute;`
  })
  return pick(random, [
    `https://www.solocheck.ie/Irish-Company/${words.join('-')}-${number}`,
    encodeURIComponent(core),
    words.length > 1 ? words.join('+') : core,
    `<b>${inHtml}</b>`,
    inHtml.replaceAll("'", '&rsquo;').replace(' ', '&nbsp;'),
    `${core} formerly known as Qxzkvw Zwkqx`,
  ])
}
