/** The register's CSV as rows of text: exactly its 21 columns in its order, or no import at all. */
import { parse } from 'csv-parse'
import { pipeline, type Readable } from 'node:stream'
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

/** Thirty times a row of the register: what an unclosed quote may swallow before the import is given up. */
export const ROW_BYTES_MAX = 8 * 1024

/** Faults after which nobody knows how many rows were swallowed, so that they can't be counted as one bad row. */
const FATAL_FAULTS: ReadonlySet<string> = new Set(['CSV_MAX_RECORD_SIZE', 'CSV_QUOTE_NOT_CLOSED'])

/** Reads row by row, so that memory does not grow with the file. */
export async function* readRows(csv: Readable): AsyncGenerator<ReadRow> {
  let malformed = 0
  let faultyLine: number | undefined
  const parser = parse({
    bom: true,
    max_record_size: ROW_BYTES_MAX,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip: (fault) => {
      if (fault?.records === 0) throw wrongHeader(fault)
      if (fault && FATAL_FAULTS.has(fault.code)) throw fault
      // A row with two faults is one bad row.
      const line = Number(fault?.lines)
      if (line !== faultyLine) malformed += 1
      faultyLine = line
    },
  })
  // Either side's end ends the other: a header that is refused also closes the archive.
  pipeline(csv, parser, () => undefined)
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
  if (!isRight) throw wrongHeader()
}

function wrongHeader(cause?: unknown): ImportError {
  return new ImportError('wrong_header', "the first line is not the register's header of 21 columns", cause)
}

function toRow(fields: string[]): ReadRow {
  if (fields.length !== COLUMNS.length) return { kind: 'rejected', reason: 'wrong_column_count' }
  const row: Partial<Row> = {}
  for (const [index, column] of COLUMNS.entries()) row[column] = fields[index] ?? ''
  return { kind: 'row', row: row as Row }
}
