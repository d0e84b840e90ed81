/** A made-up companies register as the text of its CSV file: no company, address or Eircode in it exists. */
import { COLUMNS } from '../../store/import/rows.ts'
import { companyAt, registerFields } from './sample-company.ts'
import { REJECTED_ROWS, SHOWCASE_ROWS } from './sample-showcase.ts'

const BYTE_ORDER_MARK = '\uFEFF'
const LINE_END = '\r\n'
/** RFC 4180, section 2: what makes quotes necessary. The register writes none elsewhere. */
const NEEDS_QUOTES = /[",\r\n]/

/** The fixed rows, without which there is no sample. */
export const SAMPLE_ROWS_MIN = SHOWCASE_ROWS.length + REJECTED_ROWS.length

/**
 * Yields the file record by record, line ends included: the header behind a byte order mark, then `rows` rows, damaged
 * ones counted in. The same seed (a 32-bit integer) and number of rows give the same bytes everywhere, and memory does
 * not grow with the rows. Throws a RangeError for fewer rows than the fixed ones.
 */
export function* sampleRegister({ rows, seed }: { rows: number; seed: number }): Generator<string> {
  if (!Number.isSafeInteger(rows) || rows < SAMPLE_ROWS_MIN) {
    throw new RangeError(`A sample has at least ${SAMPLE_ROWS_MIN} rows`)
  }
  if (seed !== seed >>> 0) throw new RangeError('A seed is a whole number from 0 to 4294967295')
  yield BYTE_ORDER_MARK + csvRecord(COLUMNS)
  for (const row of SHOWCASE_ROWS) yield csvRecord(registerFields(row))
  for (const fields of REJECTED_ROWS) yield csvRecord(fields)
  const count = rows - SAMPLE_ROWS_MIN
  for (let index = 0; index < count; index += 1) yield csvRecord(registerFields(companyAt({ seed, index, count })))
}

function csvRecord(fields: readonly string[]): string {
  return fields.map(csvField).join(',') + LINE_END
}

function csvField(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
