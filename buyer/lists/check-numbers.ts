/**
 * Judges the column of the company numbers by the first payments of a list, so that a wrong column costs few.
 * Runs in browsers too.
 */
import type { Operation } from '../../agent/operation/operation.ts'
import { toHead } from '../../base/grammar.ts'
import { TableError } from '../table/table-error.ts'
import type { Plan, PlannedRow } from './plan.ts'
import { rowKey } from './purchased-rows.ts'
import { isNumbered, isUnknownNumber, type RowResult } from './rows.ts'

/** The columns that can be wrong, such as `the column CRO` or `column 2`. */
export interface JudgedColumns {
  number: string
  name: string
}

/** Nothing is bought after it, unless a person confirms the column. */
export class NumberColumnError extends TableError {
  constructor({ number, name }: JudgedColumns, { judged, unknown, other }: Judgement) {
    const counts = [
      ...(unknown > 0 ? [`${unknown} have a number that no company has`] : []),
      ...(other > 0 ? [`${other} have the number of a company with another name`] : []),
    ]
    super(
      `${toHead(number)} has perhaps no company numbers, or ${name} no company names: ` +
        `of ${judged} rows, ${counts.join(', and ')}`,
      { argument: 'column' },
    )
  }
}

interface Judgement {
  judged: number
  unknown: number
  /** Rows whose number is that of a company with another name. */
  other: number
}

/** One wrong number in the first rows does not stop a list. */
const JUDGED_MIN = 3

/**
 * Buys the first payments, one after the other, until they have three different rows with name and number.
 * @throws NumberColumnError if more than half of these rows have an unknown number or one of another name
 */
export async function checkNumbers(
  { rows, purchased }: Pick<Plan, 'rows' | 'purchased'>,
  buyRow: (row: PlannedRow) => Promise<RowResult>,
  { columns, baseUrl }: { columns: JudgedColumns; baseUrl: string },
): Promise<void> {
  // A row that now asks by its name has asked with its number in an earlier run.
  const numberedOf = ({ listed: { operation }, isChosen }: PlannedRow) =>
    operation && isNumbered(operation) && !isChosen ? operation : undefined
  const keyOf = (operation: Operation) => rowKey(baseUrl, operation)
  const together = new Set<string>()
  for (const row of rows) {
    if (together.size >= JUDGED_MIN) break
    const numbered = numberedOf(row)
    if (!numbered) continue
    const batch = purchased.rows.get(keyOf(numbered))?.item?.batch
    for (const item of batch?.items ?? [numbered]) if (isNumbered(item)) together.add(keyOf(item))
  }
  if (together.size < JUDGED_MIN) return
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
  if (judgement.judged < JUDGED_MIN) return
  if ((judgement.unknown + judgement.other) * 2 > judgement.judged) throw new NumberColumnError(columns, judgement)
}

const hasOtherName = ({ conflicts }: { conflicts: readonly string[] }) => conflicts.includes('name_mismatch')
