/** The company numbers of a column of a list. */
import { readTypedNumber } from '../../operation/typed-number.ts'
import { COMPANY_NUMBER_PATTERN } from '../../../store/dataset/company.ts'
import { findColumns, readCells } from '../lists/columns.ts'
import { readTable } from '../lists/table-file.ts'

interface ListedNumbers {
  /** Sorted, without repetitions. */
  numbers: string[]
  /** The numbers of the rows, from 1, with another text in the column. */
  unreadable: number[]
}

/** @throws an error if the file cannot be read, or has no company number */
export async function readNumbers(file: string, column: string): Promise<ListedNumbers> {
  const [header = [], ...rows] = (await readTable(file)).rows
  const columns = findColumns({ number: column }, header, true)
  const texts = rows.map((row) => readCells(row, columns).number?.trim() ?? '')
  const found = texts.map((text) => readTypedNumber(text)?.digits ?? '')
  const numbers = new Set(found.filter((number) => COMPANY_NUMBER_PATTERN.test(number)))
  if (numbers.size === 0) throw new Error(`${file} has no company number in the column ${column}`)
  const unreadable = texts.flatMap((text, index) => (text === '' || numbers.has(found[index] ?? '') ? [] : [index + 1]))
  return { numbers: [...numbers].toSorted(), unreadable }
}
