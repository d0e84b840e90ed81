/** Generates a made-up register as CSV text. No company, address or Eircode in it exists. */
import { COLUMNS, REJECTED_SHARE_MAX } from '../../store/import/rows.ts'
import { companyAt, registerFields } from './sample-company.ts'
import { REJECTED_ROWS, SHOWCASE_ROWS, showcaseRows } from './sample-showcase.ts'

const BYTE_ORDER_MARK = '\uFEFF'
const LINE_END = '\r\n'
/** Fields with these characters need quotes (RFC 4180 section 2). */
const NEEDS_QUOTES = /[",\r\n]/

/** Every register contains the fixed rows. An import refuses one in which the rejected rows are a larger share. */
export const SAMPLE_ROWS_MIN = REJECTED_ROWS.length / REJECTED_SHARE_MAX

interface SampleOptions {
  rows: number
  seed: number
  /** Earlier files differ in a few of the fixed rows. */
  daysAgo?: number
}

/**
 * Yields the records of the file with their line ends: a byte order mark and the header, then `rows` rows, damaged ones
 * included. The same seed (a 32-bit integer) and number of rows give the same bytes on every machine.
 * @throws RangeError for fewer rows than {@link SAMPLE_ROWS_MIN}
 */
export function* sampleRegister({ rows, seed, daysAgo = 0 }: SampleOptions): Generator<string> {
  if (!Number.isSafeInteger(rows) || rows < SAMPLE_ROWS_MIN) {
    throw new RangeError(`A register needs at least ${SAMPLE_ROWS_MIN} rows`)
  }
  if (seed !== seed >>> 0) throw new RangeError('The seed must be a whole number from 0 to 4294967295')
  yield BYTE_ORDER_MARK + csvRecord(COLUMNS)
  for (const row of showcaseRows(daysAgo)) yield csvRecord(registerFields(row))
  for (const fields of REJECTED_ROWS) yield csvRecord(fields)
  const count = rows - SHOWCASE_ROWS.length - REJECTED_ROWS.length
  for (let index = 0; index < count; index += 1) yield csvRecord(registerFields(companyAt({ seed, index, count })))
}

function csvRecord(fields: readonly string[]): string {
  return fields.map(csvField).join(',') + LINE_END
}

function csvField(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
