/** The table of a list. A row is replaced alone, and long lists are built in parts, so that the page never stops. */
import { placeOf } from '../../address.ts'
import { button, create, link, tableAround, tableRow, type Content } from '../elements.ts'
import { statusOf } from '../record.ts'
import { toWords } from '../words.ts'
import type { ShownRow } from './state.ts'

/** Rows that are built between two frames. */
const ROWS_AT_ONCE = 50
const HEADS = ['Row', 'Asked', 'Decision', 'Number', 'Name', 'Status', 'Place', 'Why']

interface Shown {
  rowAt: (index: number) => ShownRow | undefined
  decide: (index: number) => void
}

export function createRowsTable({ rowAt, decide }: Shown) {
  const body = create('tbody')
  const built = new Map<number, HTMLElement>()
  const build = (index: number): HTMLElement => {
    const row = rowAt(index)
    const cells = row ? cellsOf(row, () => decide(index)) : []
    const element = tableRow(HEADS, cells)
    built.set(index, element)
    return element
  }
  let filling = 0
  /** Shows the rows with these indexes. */
  const fill = (indexes: readonly number[]): void => {
    const own = (filling += 1)
    built.clear()
    body.replaceChildren()
    const append = (start: number): void => {
      if (own !== filling) return
      body.append(...indexes.slice(start, start + ROWS_AT_ONCE).map(build))
      if (start + ROWS_AT_ONCE < indexes.length) requestAnimationFrame(() => append(start + ROWS_AT_ONCE))
    }
    append(0)
  }
  /** Shows a row that has changed, if it is shown. It stays until another filter is chosen. */
  const replace = (index: number): void => {
    const old = built.get(index)
    old?.replaceWith(build(index))
  }
  return { element: tableAround(HEADS, body, 'rows list'), fill, replace }
}

function cellsOf(row: ShownRow, decide: () => void): Content[] {
  const { at, asked, decision, company, provenance, why, note, canChange } = row
  const decided = canChange ? button(decision, decide) : decision
  const reason = [toWords(why), note && create('div', { class: 'quiet' }, `Note: ${note}`)]
  if (!company || !provenance) return [String(at), asked.join(', '), decided, '', '', '', '', reason]
  const { company_number: number, legal_name: name } = company
  const named = link(`#${number}`, name)
  return [String(at), asked.join(', '), decided, number, named, statusOf(company, provenance), placeOf(company), reason]
}
