/** The review of a list: the rows that need a person, with a column for the number of the right company. */
import { sha256Hex } from '../../../store/base/canonical.ts'
import { ifMissing } from '../../../store/base/error-code.ts'
import { parseOperation, type Operation } from '../../operation/operation.ts'
import { lookup } from '../../operation/lookup.ts'
import { readTypedNumber } from '../../operation/typed-number.ts'
import { ADDED, findColumns, readCells } from './columns.ts'
import type { RowCells, RowResult } from './rows.ts'
import { readTable, writeTable, type Table } from '../../command-line/table-file.ts'

const KEY = 'key'
const CHOICE = 'chosen_number'
/** What was found for a row, beside its cells. */
const FOUND = ADDED.filter((name) => /^(?:decision|notes|alternative_)/.test(name))

/** Whether the result leaves the choice to a person. */
export const needsReview = (result: RowResult): boolean =>
  result.kind === 'refused' || (result.kind === 'bought' && result.answer.match === null)

/** The same for equal rows, in any order of the list. The prefix keeps a spreadsheet from reading it as a number. */
export const reviewKey = (cells: RowCells): string =>
  `row-${sha256Hex(JSON.stringify(Object.values(cells))).slice(0, 16)}`

/**
 * The lookups of the numbers that were written into the file, by the keys of their rows. Undefined without the file.
 * @throws an error that names the row of a number that cannot be read
 */
export async function readChoices(path: string): Promise<Map<string, Operation> | undefined> {
  const table = await readTable(path).catch(ifMissing(undefined))
  if (!table) return undefined
  const [header = [], ...rows] = table.rows
  const columns = findColumns({ key: KEY, choice: CHOICE }, header, true)
  const choices = new Map<string, Operation>()
  for (const [index, row] of rows.entries()) {
    const { key = '', choice = '' } = readCells(row, columns)
    if (choice.trim() === '') continue
    const parsed = parseOperation(lookup, { company_number: readTypedNumber(choice)?.digits })
    if (parsed.kind === 'invalid') throw new Error(`${path} has no company number in ${CHOICE} of row ${index + 2}`)
    choices.set(key.trim(), parsed.operation)
  }
  return choices
}

/** @param found the cells of each row that needs a person, and its added fields */
export async function writeReview(
  path: string,
  found: ReadonlyMap<string, { cells: RowCells; added: readonly string[] }>,
  format: Table['format'],
): Promise<void> {
  const shown = (added: readonly string[]) => FOUND.map((name) => added[ADDED.indexOf(name)] ?? '')
  const rows = [...found].map(([key, { cells, added }]) => [[key], Object.values(cells), shown(added), ['']].flat())
  const [first] = found.values()
  const header = [KEY, ...Object.keys(first?.cells ?? {}), ...FOUND, CHOICE]
  await writeTable(path, { rows: [header, ...rows], format }, { addedFrom: 0 })
}
