/** The company numbers of a column of a CSV file. */
import { readTypedNumber } from '../../operation/typed-number.ts'
import { COMPANY_NUMBER_PATTERN } from '../../../store/dataset/company.ts'
import { findColumns, readCells } from '../lists/columns.ts'
import { findFormat, readCsv } from '../lists/csv-file.ts'

interface ListedNumbers {
  /** Sorted, without repetitions. */
  numbers: string[]
  /** The numbers of the rows, from 1, with another text in the column. */
  unreadable: number[]
}

/** @throws an error if the file cannot be read, or has no company number */
export async function readNumbers(file: string, column: string): Promise<ListedNumbers> {
  const numbers = new Set<string>()
  const unreadable: number[] = []
  let columns: ReturnType<typeof findColumns> | undefined
  let row = 0
  for await (const fields of readCsv(file, await findFormat(file))) {
    if (!columns) {
      columns = findColumns({ company_number: column }, fields, true)
      continue
    }
    row += 1
    const text = readCells(fields, columns).company_number ?? ''
    if (text.trim() === '') continue
    const number = parseNumber(text)
    if (number === undefined) unreadable.push(row)
    else numbers.add(number)
  }
  if (numbers.size === 0) throw new Error(`${file} has no company number in the column ${column}`)
  return { numbers: [...numbers].toSorted(), unreadable }
}

function parseNumber(text: string): string | undefined {
  const number = readTypedNumber(text)?.digits ?? ''
  return COMPANY_NUMBER_PATTERN.test(number) ? number : undefined
}
