/**
 * One row of the register as a company record (spec 2.1), or the reason why it can't be one. Whatever changes here
 * raises NORMALISATION_VERSION, because the same archive then gives another snapshot.
 */
import { COMPANY_NUMBER_PATTERN, type Company } from '../company.ts'
import { withoutHidden } from '../hidden.ts'
import type { Row } from './rows.ts'

/** Values that were set to null or cleaned on the way; the row stays. */
export type Finding =
  | 'date_malformed'
  | 'date_sentinel'
  | 'code_malformed'
  | 'nace_malformed'
  | 'eircode_malformed'
  | 'hidden_characters_removed'
  | 'invalid_utf8_replaced'

type Rejection = 'no_company_number' | 'malformed_company_number' | 'no_company_name'

export type Normalised = { kind: 'company'; company: Company } | { kind: 'rejected'; reason: Rejection }

/** Counts findings. */
export type Note = (finding: Finding) => void

/** What the register writes when it knows no date, beside leaving it empty. */
const SENTINEL_DATES: ReadonlySet<string> = new Set(['1901-01-01', '0001-01-01'])

const NO_ADDRESS = /(?<!\*)\*+\s*NO ADDRESS DETAILS\s*\*+/gi

/** Routing key (a letter and two digits, but D6W) and unique identifier. */
const EIRCODE = /^(?:[A-Z][0-9]{2}|D6W)[A-Z0-9]{4}$/

export function normalise(row: Row, note: Note): Normalised {
  const number = row.company_num.trim()
  if (number === '') return { kind: 'rejected', reason: 'no_company_number' }
  if (!COMPANY_NUMBER_PATTERN.test(number)) return { kind: 'rejected', reason: 'malformed_company_number' }
  const name = cleanText(row.company_name, note)
  if (name === '') return { kind: 'rejected', reason: 'no_company_name' }
  return { kind: 'company', company: toCompany({ row, number, name }, note) }
}

function toCompany({ row, number, name }: { row: Row; number: string; name: string }, note: Note): Company {
  const addressLines = [row.company_address_1, row.company_address_2, row.company_address_3, row.company_address_4]
  return {
    company_number: number,
    legal_name: name,
    status: cleanText(row.company_status, note) || null,
    status_code: code(row.company_status_code, note),
    company_type: cleanText(row.company_type, note) || null,
    company_type_code: code(row.company_type_code, note),
    nace_v2_code: naceCode(row.nace_v2_code, note),
    principal_object_code: code(row.princ_object_code, note),
    registered_date: date(row.company_reg_date, note),
    dissolved_date: date(row.comp_dissolved_date, note),
    last_annual_return_date: date(row.last_ar_date, note),
    next_annual_return_date: date(row.nard, note),
    last_accounts_date: date(row.last_accounts_date, note),
    status_date: date(row.company_status_date, note),
    name_effective_date: date(row.company_name_eff_date, note),
    type_effective_date: date(row.company_type_eff_date, note),
    registered_address: {
      lines: addressLines.map((line) => addressLine(line, note)).filter((line) => line !== ''),
      eircode: eircode(row.eircode, note),
    },
  }
}

/** Printable ASCII with single spaces inside is clean already, as nearly every text of the register is. */
const CLEAN = /^[!-~]+(?: [!-~]+)*$/

/** NFC, without hidden characters, white space collapsed: the register doubles spaces in one name of seven. */
function cleanText(value: string, note: Note): string {
  if (value === '' || CLEAN.test(value)) return value
  if (value.includes('\uFFFD')) note('invalid_utf8_replaced')
  // U+FEFF counts as white space in a regular expression, and yet nobody sees it.
  const spaced = value.replace(/[^\S\uFEFF]+/g, ' ').replace(/^ | $/g, '')
  const visible = withoutHidden(spaced)
  if (visible === spaced) return spaced.normalize('NFC')
  note('hidden_characters_removed')
  return visible.replace(/ +/g, ' ').trim().normalize('NFC')
}

/** Without the placeholder, which can stand inside a line and twice, and without the comma an empty town leaves behind. */
function addressLine(value: string, note: Note): string {
  const text = cleanText(value, note)
  const known = text.includes('*') ? text.replace(NO_ADDRESS, ' ').replace(/ +/g, ' ') : text
  return known.replace(/^[ ,]+|[ ,]+$/g, '')
}

const DATE_LENGTH = 'YYYY-MM-DD'.length

function date(value: string, note: Note): string | null {
  if (value === '') return null
  const text = value.length === DATE_LENGTH ? value : value.trim().replace(/T00:00:00(\.0+)?Z?$/, '')
  if (text === '') return null
  if (SENTINEL_DATES.has(text)) return (note('date_sentinel'), null)
  return isCalendarDate(text) ? text : (note('date_malformed'), null)
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

/** Counted, not parsed: a register has eight million dates. */
function isCalendarDate(text: string): boolean {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return false
  const year = numberAt(text, 0) * 100 + numberAt(text, 2)
  const month = numberAt(text, 5)
  const day = numberAt(text, 8)
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && isLeap ? 29 : (MONTH_DAYS[month - 1] ?? 0)
  return day >= 1 && day <= days
}

const ZERO = 48

/** The two digits at a place that has two. */
function numberAt(text: string, at: number): number {
  return (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO
}

/** Codes as delivered: digits, with a point in the principal object's. */
function code(value: string, note: Note): string | null {
  const text = value.trim()
  if (text === '') return null
  return /^[0-9]{1,8}(\.[0-9]{1,4})?$/.test(text) ? text : (note('code_malformed'), null)
}

/** The register writes the code as a number: `150.0` is NACE 0150. */
function naceCode(value: string, note: Note): string | null {
  const text = value.trim()
  if (text === '') return null
  const [, digits] = /^([0-9]{1,4})(?:\.0)?$/.exec(text) ?? []
  return digits === undefined ? (note('nace_malformed'), null) : digits.padStart(4, '0')
}

/** As it is written in addresses: `D02 X285`. Nothing is guessed; the letter O stays wrong where a zero belongs. */
function eircode(value: string, note: Note): string | null {
  if (value === '') return null
  const text = value.toUpperCase().replace(/[\s-]/g, '')
  if (text === '') return null
  return EIRCODE.test(text) ? `${text.slice(0, 3)} ${text.slice(3)}` : (note('eircode_malformed'), null)
}
