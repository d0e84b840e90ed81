/** Generates a made-up register as CSV text. No company, address or Eircode in it exists. */
import { COLUMNS } from '../../../store/dataset/company.ts'
import { REJECTED_SHARE_MAX } from '../../../store/import/rows.ts'
import { csvField } from '../register.ts'
import { companyAt, registerFields } from './company.ts'
import { REJECTED_ROWS, SHOWCASE_ROWS, showcaseRows } from './showcase.ts'

const BYTE_ORDER_MARK = '\uFEFF'
const LINE_END = '\r\n'

/** An import refuses a register in which the damaged ones of the fixed rows are a larger share. */
const SAMPLE_ROWS_MIN = REJECTED_ROWS.length / REJECTED_SHARE_MAX

export interface SampleOptions {
  rows: number
  seed: number
  /** Earlier files differ in a few of the fixed rows. */
  daysAgo?: number
}

/** The files that the sandbox imports, the oldest first, and what is in them. */
export const SANDBOX_DAYS = [4, 3, 2, 1, 0].map((daysAgo, index) => ({
  file: import.meta.resolve(`#root/agent/sandbox/register/day-${index + 1}.csv`),
  options: { rows: 1_000, seed: 1, daysAgo },
}))

/**
 * Yields the records of the file with their line ends: a byte order mark and the header, then `rows` rows, damaged ones
 * included. The same seed (a 32-bit integer) and number of rows give the same bytes on every machine.
 * @throws RangeError for fewer rows than {@link SAMPLE_ROWS_MIN}
 */
export function* sampleRegister({ rows, seed, daysAgo = 0 }: SampleOptions): Generator<string> {
  if (!(rows >= SAMPLE_ROWS_MIN)) throw new RangeError(`A register needs at least ${SAMPLE_ROWS_MIN} rows`)
  yield BYTE_ORDER_MARK + csvRecord(COLUMNS)
  for (const row of showcaseRows(daysAgo)) yield csvRecord(registerFields(row))
  for (const fields of REJECTED_ROWS) yield csvRecord(fields)
  const count = rows - SHOWCASE_ROWS.length - REJECTED_ROWS.length
  for (let index = 0; index < count; index += 1) yield csvRecord(registerFields(companyAt({ seed, index, count })))
}

function csvRecord(fields: readonly string[]): string {
  return fields.map(csvField).join(',') + LINE_END
}
