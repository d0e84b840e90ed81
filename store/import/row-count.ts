/** Refuses a file with too few rows, before its snapshot is published. */
import { ImportError, throwIfStopped } from './errors.ts'
import type { ParsedRow } from './rows.ts'

/** The register seldom loses rows. A file with less than this share of the last retrieval is incomplete (contract 11.2). */
const KEPT_SHARE_MIN = 0.9

export interface ExpectedRows {
  /** The least number of rows that is accepted from this location. */
  rowsMin: number
  /** The number of rows of the last retrieval from the same location, or 0. */
  rowsBefore: number
}

/** Passes the rows on. Throws an ImportError at the end if there were too few, or when the import is stopped. */
export async function* checkRowCount(
  batches: AsyncIterable<ParsedRow[]>,
  { rowsMin, rowsBefore }: ExpectedRows,
  signal?: AbortSignal,
): AsyncGenerator<ParsedRow[], void, void> {
  let count = 0
  for await (const rows of batches) {
    throwIfStopped(signal)
    count += rows.length
    yield rows
  }
  if (count < rowsMin) throw new ImportError('too_few_rows', `the file has ${count} rows; the minimum is ${rowsMin}`)
  if (count < rowsBefore * KEPT_SHARE_MIN) {
    throw new ImportError('rows_lost', `the file has ${count} rows; the same source gave ${rowsBefore} before`)
  }
}
