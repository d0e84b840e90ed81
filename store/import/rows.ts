/** Reads the register's CSV as rows of text. The header must have exactly the 21 columns in their order. */
import type { Readable } from 'node:stream'
import { readRecords } from './csv.ts'
import { ImportError } from './errors.ts'

// prettier-ignore
export const COLUMNS = [
  'company_num', 'company_name', 'company_status_code', 'company_status', 'company_type_code', 'company_type',
  'company_reg_date', 'last_ar_date',
  'company_address_1', 'company_address_2', 'company_address_3', 'company_address_4',
  'comp_dissolved_date', 'nard', 'last_accounts_date', 'company_status_date', 'nace_v2_code', 'eircode',
  'company_name_eff_date', 'company_type_eff_date', 'princ_object_code',
] as const

export type RegisterRow = Record<(typeof COLUMNS)[number], string>

/** A row of the file, or the reason why it could not be read. */
type ParsedRow =
  { kind: 'row'; row: RegisterRow } | { kind: 'rejected'; reason: 'wrong_column_count' | 'malformed_row' }

/** A file with a larger share of rejected rows is not the register, even if its header is right (contract 11.2). */
export const REJECTED_SHARE_MAX = 0.01

/** Yields rows in batches, so that memory does not grow with the file. */
export async function* readRows(csv: Readable): AsyncGenerator<ParsedRow[], void, void> {
  let hasHeader = false
  for await (const records of readRecords(csv)) {
    if (records.length === 0) continue
    if (!hasHeader) checkHeader(records[0])
    yield (hasHeader ? records : records.slice(1)).map(toRow)
    hasHeader = true
  }
  if (!hasHeader) throw new ImportError('wrong_header', 'the file is empty')
}

function checkHeader(fields: string[] | null | undefined): void {
  const isRight = fields?.length === COLUMNS.length && fields.every((name, index) => name.trim() === COLUMNS[index])
  if (!isRight) throw new ImportError('wrong_header', "the first line is not the register's header of 21 columns")
}

function toRow(fields: string[] | null): ParsedRow {
  if (fields === null) return { kind: 'rejected', reason: 'malformed_row' }
  if (fields.length !== COLUMNS.length) return { kind: 'rejected', reason: 'wrong_column_count' }
  const row = Object.fromEntries(COLUMNS.map((column, index) => [column, fields[index]])) as RegisterRow
  return { kind: 'row', row }
}
