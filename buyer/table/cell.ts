/** A cell of a table. That of a CSV is text. That of a sheet can have another type, and is null if empty. */
export type Cell = string | number | boolean | Date | null

/** A cell as text: a date as YYYY-MM-DD, a number without the format of its sheet. */
export function toText(cell: Cell | undefined): string {
  return cell instanceof Date ? cell.toISOString().slice(0, 10) : String(cell ?? '')
}

export const isBlank = (cell: Cell | undefined): boolean => toText(cell).trim() === ''
