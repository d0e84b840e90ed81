/** Rows and CSV files in the register's format, and the outcome of an import, for tests. */
import { ImportError } from '../../store/import/errors.ts'
import { COLUMNS } from '../../store/dataset/company.ts'
import type { RegisterRow } from '../../store/import/rows.ts'

export const HEADER = COLUMNS.join(',')

/** A complete row that needs no cleaning. */
export function registerRow(change: Partial<RegisterRow> = {}): RegisterRow {
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

/** Rows with the numbers from `from` on, each with a name of its own unless `change` has one. */
export function numberedRows(count: number, from = 1, change: Partial<RegisterRow> = {}): RegisterRow[] {
  return Array.from({ length: count }, (_, index) =>
    registerRow({ company_num: String(from + index), company_name: `NUMBER ${from + index}`, ...change }),
  )
}

export function toCsvLine(row: RegisterRow): string {
  return COLUMNS.map((column) => csvField(row[column])).join(',')
}

export function toCsv(...rows: RegisterRow[]): string {
  return [HEADER, ...rows.map(toCsvLine)].map((line) => `${line}\n`).join('')
}

/** Quoted if necessary (RFC 4180 section 2). */
export function csvField(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

/** Returns `done` if the promise is fulfilled; otherwise the code of its ImportError or the name of its error. */
export function outcomeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: unknown) => {
      if (error instanceof ImportError) return error.code
      return error instanceof Error ? error.name : 'no error'
    },
  )
}
