/** Lists as people type and paste them: numbered lines, totals, quoted text. Runs in browsers too. */
import { isBlank, toText, type Cell } from '../table/cell.ts'
import { readHeading } from './headings.ts'

const NUMBERED = /^\s*(\d{1,4})[.)]\s+(?=\S)/
const BULLET = /^\s*[-–—•*·]\s+(?=\S)/

/**
 * Returns a function that removes the marks of lines, if most lines have them: `1.`, `2.` and so on, or `-`. One line
 * alone can be a name.
 */
export function lineMarks(lines: readonly string[]): (line: string) => string {
  const texts = lines.filter((line) => line.trim() !== '')
  const isMost = (count: number) => count * 2 > texts.length
  const numbers = texts.flatMap((line) => Number(NUMBERED.exec(line)?.[1] ?? []))
  const following = numbers.filter((number, at) => number === (at === 0 ? 1 : (numbers[at - 1] ?? 0) + 1))
  if (isMost(following.length)) return (line) => line.replace(NUMBERED, '')
  if (isMost(texts.filter((line) => BULLET.test(line)).length)) return (line) => line.replace(BULLET, '')
  return (line) => line
}

const TOTAL =
  /^\s*(?:grand |sub-?)?(?:total|count|sum)s?(?: (?:number )?(?:of )?(\p{L}+))?\s*[:=]?\s*[\p{Sc}\d.,\s]*$/iu
const COUNTED = /^(?:rows?|records?|lines?|entries|amount)$/i

/** Whether a row is a total, such as `Total suppliers: 26` or `Total | 7.50`, and no company. */
function isTotal(row: readonly Cell[]): boolean {
  const [first = '', ...others] = row.map(toText).filter((text) => text.trim() !== '')
  const [whole, counted] = TOTAL.exec(first) ?? []
  if (whole === undefined || !/\d/.test([first, ...others].join(' '))) return false
  return counted === undefined || COUNTED.test(counted) || readHeading(counted) !== undefined
}

/** The number of rows above the totals and blank rows at the end of a list. */
export function countWithoutTotals(rows: readonly (readonly Cell[])[]): number {
  const last = rows.findLastIndex((row) => !row.every(isBlank) && !isTotal(row))
  return rows.slice(last + 1).some(isTotal) ? last + 1 : rows.length
}

const FIELD = '(?:"(?:[^"]|"")*"|[^",;]*)'
const QUOTED = ([',', ';'] as const).map(
  (separator) => [separator, new RegExp(`^\\s*${FIELD}(?:${separator}${FIELD})+\\s*$`)] as const,
)

/** The separator of pasted text: that of quoted fields, else a tabulator, because a name can have a comma. */
export function pastedSeparator(text: string): string {
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.trim() !== '')
  const isQuoted = lines.filter((line) => /^\s*"|[,;]"/.test(line)).length * 2 >= lines.length
  const [separator] = QUOTED.find(([, form]) => lines.length > 0 && lines.every((line) => form.test(line))) ?? []
  return (isQuoted && separator) || '\t'
}
