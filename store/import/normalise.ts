/**
 * Converts a row of the register to a company record (contract 2.1), or rejects it. Every change here must raise
 * NORMALISATION_VERSION, because the same archive then gives another snapshot id.
 */
import * as z from 'zod'
import { COMPANY_NUMBER_PATTERN, FIELDS, mapFields, type Company } from '../dataset/company.ts'
import { removeHidden } from '../../base/hidden.ts'
import type { RegisterRow } from './rows.ts'

/** Why a value was set to null or cleaned. The row is kept. */
type NormalisationFinding =
  | 'date_malformed'
  | 'date_sentinel'
  | 'code_malformed'
  | 'nace_malformed'
  | 'eircode_malformed'
  | 'hidden_characters_removed'
  | 'invalid_utf8_replaced'

type NormalisedRow =
  | { kind: 'company'; company: Company }
  | { kind: 'rejected'; reason: 'no_company_number' | 'malformed_company_number' | 'no_company_name' }

type OnFinding = (finding: NormalisationFinding) => void

/** Dates that the register writes in place of some unknown dates. Most unknown dates are empty. */
const SENTINEL_DATES: ReadonlySet<string> = new Set(['1901-01-01', '0001-01-01'])

const NO_ADDRESS = /(?<!\*)\*+\s*NO ADDRESS DETAILS\s*\*+/gi

/** Routing key (a letter and two digits, or D6W) and unique identifier. */
const EIRCODE = /^(?:[A-Z][0-9]{2}|D6W)[A-Z0-9]{4}$/

const READERS = {
  text: (value: string, onFinding: OnFinding) => cleanText(value, onFinding) || null,
  code,
  nace: naceCode,
  date,
}

export function normalise(row: RegisterRow, onFinding: OnFinding): NormalisedRow {
  const number = row.company_num.trim()
  if (number === '') return { kind: 'rejected', reason: 'no_company_number' }
  if (!COMPANY_NUMBER_PATTERN.test(number)) return { kind: 'rejected', reason: 'malformed_company_number' }
  const name = cleanText(row.company_name, onFinding)
  if (name === '') return { kind: 'rejected', reason: 'no_company_name' }
  const addressLines = [row.company_address_1, row.company_address_2, row.company_address_3, row.company_address_4]
  const company: Company = {
    company_number: number,
    legal_name: name,
    ...mapFields((field) => {
      const [column, kind] = FIELDS[field]
      return READERS[kind](row[column], onFinding)
    }),
    registered_address: {
      lines: addressLines.map((line) => addressLine(line, onFinding)).filter((line) => line !== ''),
      eircode: eircode(row.eircode, onFinding),
    },
  }
  return { kind: 'company', company }
}

/**
 * Printable ASCII with single inner spaces needs no cleaning. The test saves time (`bench perf`, row "import, CPU").
 */
const CLEAN = /^[!-~]+(?: [!-~]+)*$/

/** Applies NFC, removes hidden characters and collapses white space. */
function cleanText(value: string, onFinding: OnFinding): string {
  if (value === '' || CLEAN.test(value)) return value
  if (value.includes('\uFFFD')) onFinding('invalid_utf8_replaced')
  // `\s` matches U+FEFF, which is a hidden character and is removed below.
  const spaced = value.replace(/[^\S\uFEFF]+/g, ' ').replace(/^ | $/g, '')
  const visible = removeHidden(spaced)
  if (visible === spaced) return spaced.normalize('NFC')
  onFinding('hidden_characters_removed')
  return visible.replace(/ +/g, ' ').trim().normalize('NFC')
}

/** Removes every placeholder in the line, and the commas that an empty town leaves at the ends. */
function addressLine(value: string, onFinding: OnFinding): string {
  const text = cleanText(value, onFinding)
  const stripped = text.includes('*') ? text.replace(NO_ADDRESS, ' ').replace(/ +/g, ' ') : text
  return stripped.replace(/^[ ,]+|[ ,]+$/g, '')
}

const DATE_LENGTH = 'YYYY-MM-DD'.length

function date(value: string, onFinding: OnFinding): string | null {
  if (value === '') return null
  const text = value.length === DATE_LENGTH ? value : value.trim().replace(/T00:00:00(\.0+)?Z?$/, '')
  if (text === '') return null
  if (SENTINEL_DATES.has(text)) return (onFinding('date_sentinel'), null)
  return z.regexes.date.test(text) ? text : (onFinding('date_malformed'), null)
}

/** Keeps codes as delivered: digits, with a decimal point in the principal object code. */
function code(value: string, onFinding: OnFinding): string | null {
  const text = value.trim()
  if (text === '') return null
  return /^[0-9]{1,8}(\.[0-9]{1,4})?$/.test(text) ? text : (onFinding('code_malformed'), null)
}

/** Restores leading zeros. The register writes the code as a number: `150.0` is NACE 0150. */
function naceCode(value: string, onFinding: OnFinding): string | null {
  const text = value.trim()
  if (text === '') return null
  const [, digits] = /^([0-9]{1,4})(?:\.0)?$/.exec(text) ?? []
  return digits === undefined ? (onFinding('nace_malformed'), null) : digits.padStart(4, '0')
}

/** Writes an Eircode as in addresses: `D02 X285`. Typing errors, such as the letter O for a zero, are not corrected. */
function eircode(value: string, onFinding: OnFinding): string | null {
  if (value === '') return null
  const text = value.toUpperCase().replace(/[\s-]/g, '')
  if (text === '') return null
  return EIRCODE.test(text) ? `${text.slice(0, 3)} ${text.slice(3)}` : (onFinding('eircode_malformed'), null)
}
