/**
 * Judges the column of the company numbers by the first payment of a list, so that a wrong column costs one payment.
 * Runs in browsers too.
 */
import type { Operation } from '../../agent/operation/operation.ts'
import { TableError } from '../table/table-error.ts'
import type { Plan, PlannedRow } from './plan.ts'
import { rowKey } from './purchased-rows.ts'
import { isNumbered, isUnknownNumber, type RowResult } from './rows.ts'

/** Nothing is bought after it, unless a person confirms the column. */
export class NumberColumnError extends TableError {
  readonly column: string

  constructor(column: string, { judged, unknown, other }: Judgement) {
    const counts = [
      ...(unknown > 0 ? [`${unknown} have a number that no company has`] : []),
      ...(other > 0 ? [`${other} have the number of a company with another name`] : []),
    ]
    super(`The column ${column} has perhaps no company numbers: of ${judged} rows, ${counts.join(', and ')}`, {
      argument: 'column',
    })
    this.column = column
  }
}

interface Judgement {
  judged: number
  unknown: number
  /** Rows whose number is that of a company with another name. */
  other: number
}

/**
 * Buys the first payment that has a row with name and number, alone.
 * @throws NumberColumnError if more than half of these rows have an unknown number or one of another name
 */
export async function checkNumbers(
  { rows, purchased }: Pick<Plan, 'rows' | 'purchased'>,
  buyRow: (row: PlannedRow) => Promise<RowResult>,
  { numberColumn, baseUrl }: { numberColumn: string; baseUrl: string },
): Promise<void> {
  // A row that now asks by its name has asked with its number in an earlier run.
  const numberedOf = ({ listed: { operation }, isChosen }: PlannedRow) =>
    operation && isNumbered(operation) && !isChosen ? operation : undefined
  const first = rows.map(numberedOf).find((operation) => operation !== undefined)
  if (!first) return
  const keyOf = (operation: Operation) => rowKey(baseUrl, operation)
  const batch = purchased.rows.get(keyOf(first))?.item?.batch
  const together = new Set((batch?.items ?? [first]).filter(isNumbered).map(keyOf))
  const judgement: Judgement = { judged: 0, unknown: 0, other: 0 }
  for (const row of rows) {
    if (together.size === 0) break
    const numbered = numberedOf(row)
    if (!numbered || !together.delete(keyOf(numbered))) continue
    judgement.judged += 1
    const result = row.unknownNumber === undefined ? await buyRow(row) : undefined
    if (!result || isUnknownNumber(result)) {
      judgement.unknown += 1
      if (result) row.known = result
    } else if (result.kind === 'bought' && result.answer.candidates.some(hasOtherName)) judgement.other += 1
  }
  if ((judgement.unknown + judgement.other) * 2 > judgement.judged) throw new NumberColumnError(numberColumn, judgement)
}

const hasOtherName = ({ conflicts }: { conflicts: readonly string[] }) => conflicts.includes('name_mismatch')
