/** Cells that no spreadsheet runs as a formula. */

/** The characters with which a spreadsheet begins a formula, also after white space, and in their full-width forms. */
const FORMULA = /^[\s\0]*[=+\-@＝＋－＠]|^[\t\r]/

/** The same within a text, for a reader that takes another separator than the file has. */
const INNER_FORMULA = /([,;\t|\r\n][\s\0"]*)(?=[=+\-@＝＋－＠])/g

/** A text of another party as a cell that no spreadsheet runs, whichever separator it takes. */
export function toSafeCell(text: string): string {
  const [start = ''] = /^[\s\0]*/.exec(text) ?? []
  const safe = start + text.slice(start.length).replace(INNER_FORMULA, "$1'")
  return FORMULA.test(safe) ? `'${safe}` : safe
}
