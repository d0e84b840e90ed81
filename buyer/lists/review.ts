/**
 * The review of a list: the candidates of each row that needs a person, one a row, with a column for the number of the
 * right company.
 */
import { ifMissing } from '../../base/error-code.ts'
import { counted } from '../../base/grammar.ts'
import { CANDIDATE_COLUMNS, candidateRows, namesakeRows } from '../candidate-row.ts'
import { isBlank, type Cell } from '../table/cell.ts'
import type { Format } from '../table/read-table.ts'
import { readTable, writeTable } from '../table/table-file.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { parseOperation } from '../../agent/operation/operation.ts'
import { readNumber } from '../typed-input.ts'
import { findColumns, readCells } from './columns.ts'
import { reviewKey } from './plan.ts'
import { decisionOf } from './result-columns.ts'
import { NONE } from './rows.ts'
import type { BoughtRow } from './run.ts'

const KEY = 'key'
const CHOICE = 'chosen_number'

export interface Review {
  /** The keys of all rows. */
  keys: ReadonlySet<string>
  /** The numbers that were written into the file, or `NONE`, by the keys of their rows. */
  choices: ReadonlyMap<string, string>
}

/** Characters of a wrong number in an error. */
const SHOWN_MAX = 40

/**
 * Undefined without the file. A number wins over `none` beside another candidate of the same row.
 * @throws an error that names the row of a number that cannot be read, or that contradicts another one
 */
export async function readReview(path: string): Promise<Review | undefined> {
  const table = await readTable(path).catch(ifMissing(undefined))
  if (!table) return undefined
  const [header = [], ...rows] = table.rows
  const columns = findColumns({ key: KEY, choice: CHOICE }, header, true)
  const choices = new Map<string, string>()
  const keys = new Set<string>()
  for (const [index, row] of rows.entries()) {
    const { key = '', choice = '' } = readCells(row, columns)
    keys.add(key.trim())
    if (isBlank(choice)) continue
    const isNone = choice.trim().toLowerCase() === NONE
    const number = isNone ? NONE : (readNumber(choice) ?? '')
    const place = `${path}: ${CHOICE} of row ${index + 2}`
    if (!isNone && parseOperation(lookup, { company_number: number }).kind === 'invalid') {
      const shown = JSON.stringify(choice.trim().slice(0, SHOWN_MAX))
      throw new Error(`${place} is ${shown}. Write the number of one company, or ${NONE}`)
    }
    const other = choices.get(key.trim()) ?? NONE
    if (isNone && other !== NONE) continue
    if (other !== NONE && other !== number)
      throw new Error(`${place} is ${number}, and ${other} was chosen above for the same row of the list. Leave one`)
    choices.set(key.trim(), number)
  }
  return { keys, choices }
}

/** Sentences that say what a person has to do next. An existing review is theirs, so no rows are added to it. */
export function describeWaiting(path: string, needed: readonly string[], review: Review | undefined): string[] {
  const waiting = needed.filter((key) => !review?.choices.has(key))
  const listed = review ? waiting.filter((key) => review.keys.has(key)).length : waiting.length
  const need = review
    ? counted(listed, 'row still needs', 'rows still need')
    : counted(listed, 'row needs', 'rows need')
  const missing = waiting.length - listed
  const others = counted(missing, 'row that needs a person is', 'rows that need a person are')
  return [
    ...(listed > 0 ? [`${need} a person: write the numbers into ${path}, and run the same command again.`] : []),
    ...(missing > 0
      ? [`${others} not in ${path}: run the same command with another --review, and copy the new rows into ${path}.`]
      : []),
  ]
}

export async function writeReview(path: string, found: readonly BoughtRow[], format: Format): Promise<void> {
  const rows = found.flatMap(({ listed: { cells, notes }, result }): Cell[][] => {
    const start = [reviewKey(cells), ...Object.values(cells), decisionOf(result), notes.join('; ')]
    const candidates = result.kind === 'bought' ? [...candidateRows(result.answer), ...namesakeRows(result.answer)] : []
    const shown = candidates.map((candidate) => CANDIDATE_COLUMNS.map((column) => candidate[column]))
    return (shown.length > 0 ? shown : [CANDIDATE_COLUMNS.map(() => '')]).map((row) => [start, row, ''].flat())
  })
  const columns = CANDIDATE_COLUMNS.map((column) => `candidate_${column}`)
  const header = [KEY, ...Object.keys(found[0]?.listed.cells ?? {}), 'decision', 'notes', ...columns, CHOICE]
  // Without the mark, Excel does not read a CSV as UTF-8.
  await writeTable(path, [header, ...rows], { format: { ...format, hasByteOrderMark: true } })
}
