/** Finds the header of a list. The commands and the page ask a person if it is in doubt. Runs in browsers too. */
import { readTypedNumber } from '../../agent/operation/typed-number.ts'
import { parseName } from '../../store/index/normalise-name.ts'
import { isBlank, toText, type Cell } from '../table/cell.ts'
import { readHeading } from './headings.ts'

/** Rows above the header, such as a title, are few. */
export const ROWS_ABOVE_MAX = 20

export interface ProposedHeader {
  /** From 1, or 0 without a header. */
  row: number
  /** Why a person must say whether the row is the header. */
  doubt?: string | undefined
}

/** `D02 X285`, `D6W-A5V6`, `d02x285`. */
export const EIRCODE = /^\s*[a-z]\d[\dw][\s-]?[\da-z]{4}\s*$/i
/** A number, a date or an amount, a date with the name of its month, and an Eircode. */
const VALUES = [/^[^\p{L}]*\p{N}[^\p{L}]*$/u, /^\d{1,2}[\s./-]\p{L}{3,9}[\s./-]\d{2,4}$/u, EIRCODE]

/** `value`: what a header does not have, also a name with a legal form. */
type Kind = 'blank' | 'heading' | 'value' | 'text'

function kindOf(cell: Cell | undefined): Kind {
  if (isBlank(cell)) return 'blank'
  if (typeof cell !== 'string') return 'value'
  const text = cell.trim()
  if (readHeading(text)) return 'heading'
  const isValue = VALUES.some((value) => value.test(text)) || readTypedNumber(text) || parseName(text).suffix !== ''
  return isValue ? 'value' : 'text'
}

/** Rows below the header that show the kinds of its columns. */
const SAMPLE_ROWS = 50
const SHOWN_MAX = 60

/**
 * The first row with more than half as many texts as the fullest row, if it has a heading above other texts and no
 * value. It is in doubt with both, and without both if the rows below it have only values, or several columns.
 */
export function proposeHeader(rows: readonly Cell[][]): ProposedHeader {
  const counts = rows.slice(0, ROWS_ABOVE_MAX).map((row) => row.filter((cell) => !isBlank(cell)).length)
  const at = counts.findIndex((count) => count * 2 > Math.max(...counts))
  const head = rows[at] ?? []
  const below = rows.slice(at + 1, at + 1 + SAMPLE_ROWS)
  const columns = head.map((cell, column) => ({
    kind: kindOf(cell),
    others: below.map((row) => kindOf(row[column])).filter((kind) => kind !== 'blank'),
  }))
  const hasHeading = columns.some(
    ({ kind, others }) =>
      kind === 'heading' && others.filter((other) => other === 'heading').length * 2 <= others.length,
  )
  const hasValue = columns.some(({ kind }) => kind === 'value')
  if (hasHeading && !hasValue) return { row: at + 1 }
  const isAboveValues = columns.some(({ kind, others }) => kind === 'text' && others[0] && !others.includes('text'))
  if (hasValue ? !hasHeading : !isAboveValues && (counts[at] ?? 0) < 2) return { row: 0 }
  const shown = head.map(toText).join(' | ').slice(0, SHOWN_MAX)
  return { row: at + 1, doubt: `Row ${at + 1} is perhaps a header: ${shown}` }
}
