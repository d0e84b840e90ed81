/** Rows and files in the register's form, and what went wrong with an import, for the tests of the import. */
import { COLUMNS, type Row } from '../../store/import/rows.ts'

export const HEADER = COLUMNS.join(',')

/** A row with nothing to clean and nothing missing. */
export function aRow(change: Partial<Row> = {}): Row {
  return {
    company_num: '73848',
    company_name: 'PLAIN FIXTURE LIMITED',
    company_status_code: '1151',
    company_status: 'Normal',
    company_type_code: '1153',
    company_type: 'LTD - Private Company Limited by Shares',
    company_reg_date: '1979-12-03',
    last_ar_date: '2025-09-30',
    company_address_1: '1 FIXTURE STREET',
    company_address_2: 'FIXTURETOWN',
    company_address_3: 'CORK',
    company_address_4: 'Ireland',
    comp_dissolved_date: '2026-01-02',
    nard: '2026-09-30',
    last_accounts_date: '2024-12-31',
    company_status_date: '2020-03-04',
    nace_v2_code: '6420.0',
    eircode: 'T12 AB34',
    company_name_eff_date: '1980-01-01',
    company_type_eff_date: '2015-06-01',
    princ_object_code: '64.20',
    ...change,
  }
}

export function csvLine(row: Row): string {
  return COLUMNS.map((column) => quoted(row[column])).join(',')
}

export function csvOf(...rows: Row[]): string {
  return [HEADER, ...rows.map(csvLine)].map((line) => `${line}\n`).join('')
}

function quoted(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

/** What a promise came to: `done`, or the fault or else the name of its error. */
export function outcomeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: unknown) => {
      if (!(error instanceof Error)) return 'no error'
      return 'fault' in error ? String(error.fault) : error.name
    },
  )
}
