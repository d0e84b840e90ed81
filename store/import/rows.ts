/** The register's CSV as rows of text: exactly its 21 columns in its order, or no import at all. */
import { parse } from 'csv-parse'
import type { Readable } from 'node:stream'
import { ImportError } from './errors.ts'

export const COLUMNS = [
  'company_num',
  'company_name',
  'company_status_code',
  'company_status',
  'company_type_code',
  'company_type',
  'company_reg_date',
  'last_ar_date',
  'company_address_1',
  'company_address_2',
  'company_address_3',
  'company_address_4',
  'comp_dissolved_date',
  'nard',
  'last_accounts_date',
  'company_status_date',
  'nace_v2_code',
  'eircode',
  'company_name_eff_date',
  'company_type_eff_date',
  'princ_object_code',
] as const

export type Column = (typeof COLUMNS)[number]
export type Row = Record<Column, string>

/** A row of the file, or the fact that one could not be read as a row. */
export type ReadRow = { kind: 'row'; row: Row } | { kind: 'rejected'; reason: 'wrong_column_count' | 'malformed_row' }

/** Hundreds of times a row of the register: what an unclosed quote may swallow before the import is given up. */
const ROW_CHARACTERS_MAX = 64 * 1024

/** Reads row by row, so that memory does not grow with the file. */
export async function* readRows(csv: Readable): AsyncGenerator<ReadRow> {
  let malformed = 0
  const parser = parse({
    bom: true,
    max_record_size: ROW_CHARACTERS_MAX,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip: () => void (malformed += 1),
  })
  csv.on('error', (cause) => parser.destroy(cause))
  csv.pipe(parser)
  let hasHeader = false
  try {
    for await (const fields of parser as AsyncIterable<string[]>) {
      if (hasHeader) yield toRow(fields)
      else checkHeader(fields)
      hasHeader = true
      for (; malformed > 0; malformed -= 1) yield { kind: 'rejected', reason: 'malformed_row' }
    }
  } catch (cause) {
    if (cause instanceof ImportError) throw cause
    throw new ImportError('csv_malformed', 'the file cannot be read as CSV', cause)
  }
  for (; malformed > 0; malformed -= 1) yield { kind: 'rejected', reason: 'malformed_row' }
  if (!hasHeader) throw new ImportError('wrong_header', 'the file is empty')
}

function checkHeader(fields: string[]): void {
  const isRight = fields.length === COLUMNS.length && fields.every((name, index) => name.trim() === COLUMNS[index])
  if (!isRight) throw new ImportError('wrong_header', "the first line is not the register's header of 21 columns")
}

function toRow(fields: string[]): ReadRow {
  if (fields.length !== COLUMNS.length) return { kind: 'rejected', reason: 'wrong_column_count' }
  const row = Object.fromEntries(COLUMNS.map((column, index) => [column, fields[index] ?? ''])) as Row
  return { kind: 'row', row }
}
