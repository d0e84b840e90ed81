/** The command that buys a list which is too long for the page. */
import { resolve } from '../../../agent/operation/resolve.ts'
import { namesOf, NO_COLUMN, type ColumnNames } from '../../lists/columns.ts'
import type { RowCells } from '../../lists/rows.ts'
import { clientWords, type OfferedService } from '../watch-command.ts'

interface Offered extends OfferedService {
  /** The name of the file, which can be any text. */
  file: string
  rows: number
  /** From 1, or 0 without a header. */
  headerRow: number
  /** The number, from 1, of each column. */
  columns: ColumnNames<keyof RowCells>
  encoding?: string | undefined
  sheet?: string | undefined
  hasHiddenRows?: boolean | undefined
}

/** A text as one word of a shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const FLAGS: Record<keyof RowCells, string> = {
  name: '--column',
  company_number: '--number-column',
  eircode: '--eircode-column',
  address: '--address-column',
}

export function reconcileCommand({ file, rows, headerRow, columns, ...given }: Offered): string {
  const { encoding, sheet, hasHiddenRows = false, ...offered } = given
  const { program, service } = clientWords(offered)
  const header = headerRow === 0 ? '--no-header' : `--header-row ${headerRow}`
  const read = Object.entries(FLAGS).flatMap(([field, flag]) => {
    const names = namesOf(columns[field as keyof RowCells])
    return (names.length > 0 ? names : [NO_COLUMN]).map((name) => `${flag} ${name}`)
  })
  const table = [
    ...(encoding === undefined ? [] : [`--encoding ${encoding}`]),
    ...(sheet === undefined ? [] : [`--sheet ${quote(sheet)}`]),
    ...(hasHiddenRows ? ['--hidden-rows'] : []),
  ]
  // The command needs a limit there. It says the price, and asks.
  const limit = offered.mode === 'mainnet' ? [`--max-total ${((rows * resolve.prices.mainnet) / 1e6).toFixed(2)}`] : []
  // A name that begins with a hyphen would be an option.
  const path = quote(file.replace(/^-/, './-'))
  return [program, 'reconcile', path, header, ...read, ...table, ...limit, '--batch', service].join(' ')
}
