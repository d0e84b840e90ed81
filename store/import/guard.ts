/** Refuses a file with too few rows while it is read, so that nothing is built or served of it. */
import { ImportError } from './errors.ts'
import type { ReadRow } from './rows.ts'

/** A register only grows but for corrections: a tenth lost in a day is a file cut short (decisions 7). */
const KEPT_SHARE_MIN = 0.9

export interface Expected {
  /** The least that this location is believed. */
  rowsMin: number
  /** What the same location gave the last time; 0 when it was another. */
  rowsBefore: number
}

/** The rows as they come, ending in an ImportError when they were too few or are no longer wanted. */
export async function* guardRows(
  rows: AsyncIterable<ReadRow[]>,
  { rowsMin, rowsBefore }: Expected,
  signal?: AbortSignal,
): AsyncGenerator<ReadRow[], void, void> {
  let count = 0
  for await (const some of rows) {
    if (signal?.aborted) throw new ImportError('stopped', 'the import was stopped')
    count += some.length
    yield some
  }
  if (count < rowsMin) throw new ImportError('too_few_rows', `${count} rows, where ${rowsMin} are the least`)
  if (count < rowsBefore * KEPT_SHARE_MIN) {
    throw new ImportError('rows_lost', `${count} rows, where the same source gave ${rowsBefore} before`)
  }
}
