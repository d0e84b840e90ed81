/** The register's CSV as rows of text: exactly its 21 columns in its order, or no import at all. */
import type { Readable } from 'node:stream'
import { readRecords, type CsvRecord } from './csv.ts'
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

/** Reads some rows at a time, so that memory does not grow with the file. */
export async function* readRows(csv: Readable): AsyncGenerator<ReadRow[], void, void> {
  let hasHeader = false
  for await (const records of readRecords(csv)) {
    if (records.length === 0) continue
    if (!hasHeader) checkHeader(records[0])
    yield (hasHeader ? records : records.slice(1)).map(toRow)
    hasHeader = true
  }
  if (!hasHeader) throw new ImportError('wrong_header', 'the file is empty')
}

function checkHeader(fields: CsvRecord | undefined): void {
  const isRight = fields?.length === COLUMNS.length && fields.every((name, index) => name.trim() === COLUMNS[index])
  if (!isRight) throw new ImportError('wrong_header', "the first line is not the register's header of 21 columns")
}

function toRow(fields: CsvRecord): ReadRow {
  if (fields === null) return { kind: 'rejected', reason: 'malformed_row' }
  if (fields.length !== COLUMNS.length) return { kind: 'rejected', reason: 'wrong_column_count' }
  return { kind: 'row', row: named(fields) }
}

/** In the order of {@link COLUMNS}, spelt out: a million objects of one known shape take a quarter of the time. */
function named(fields: string[]): Row {
  return {
    company_num: fields[0] as string,
    company_name: fields[1] as string,
    company_status_code: fields[2] as string,
    company_status: fields[3] as string,
    company_type_code: fields[4] as string,
    company_type: fields[5] as string,
    company_reg_date: fields[6] as string,
    last_ar_date: fields[7] as string,
    company_address_1: fields[8] as string,
    company_address_2: fields[9] as string,
    company_address_3: fields[10] as string,
    company_address_4: fields[11] as string,
    comp_dissolved_date: fields[12] as string,
    nard: fields[13] as string,
    last_accounts_date: fields[14] as string,
    company_status_date: fields[15] as string,
    nace_v2_code: fields[16] as string,
    eircode: fields[17] as string,
    company_name_eff_date: fields[18] as string,
    company_type_eff_date: fields[19] as string,
    princ_object_code: fields[20] as string,
  }
}
