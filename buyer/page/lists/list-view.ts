/** A bought list: one line that counts and filters, the decisions, the table, and the files. */
import type { List } from '../../lists/list.ts'
import { button, create, link, paragraph, type Content } from '../elements.ts'
import { MOMENT, plural, usdc } from '../words.ts'
import { createDecider } from './decide.ts'
import { createRowsTable } from './rows-table.ts'
import { saveList } from './save-list.ts'
import { describeSummary, nextUndecided, showRow, summarise, type KnownRow, type ShownRow, type Step } from './state.ts'
import { addStep, updateList } from './change-list.ts'
import type { StoredList } from './stored-list.ts'

/** The address of the receipt, below that of the list. */
export const RECEIPT = '#receipt'

/** What is stored for a list. */
export interface ListState {
  rows: readonly KnownRow[]
  /** Micro-USDC, in all visits. */
  paid: number
}

export interface ListView {
  element: HTMLElement
  rows: readonly ShownRow[]
  summary: () => string
  /** Shows what was bought meanwhile. What a person does goes on. */
  update: (state: ListState) => void
}

/** @param fail is called if a decision cannot be stored */
export function createListView(
  stored: StoredList,
  list: List,
  state: ListState,
  fail: (cause: unknown) => void,
): ListView {
  let { paid } = state
  const trails: Record<string, readonly Step[]> = { ...stored.trails }
  const rows: ShownRow[] = state.rows.map((row) => showRow(row, trails[row.key]))
  const sameKey = new Map<string, number[]>()
  for (const [index, { key }] of rows.entries()) sameKey.set(key, [...(sameKey.get(key) ?? []), index])
  let filter = ''

  const table = createRowsTable({ rowAt: (index) => rows[index], decide: (index) => decider.open(index) })
  const summary = create('p', { class: 'summary' })
  const shownOf = create('p', { class: 'quiet', role: 'status' })
  const decideNext = button('', () => decider.open(nextUndecided(rows, 0)))
  decideNext.classList.add('main')

  const showSummary = (): void => {
    const filters = summarise(rows)
    const left = rows.filter(({ group }) => group === 'undecided').length
    decideNext.textContent = `Decide ${plural(left, 'row')}`
    decideNext.hidden = left === 0
    const controls = filters.map(({ id, text }) => {
      const made = button(text, () => choose(id))
      made.ariaPressed = String(id === filter)
      return made
    })
    const focused = summary.querySelector(':focus')?.textContent
    summary.replaceChildren(...create('p', {}, [joined(filters, controls), `paid ${usdc(paid)}`]).childNodes)
    controls.find(({ textContent }) => textContent === focused)?.focus()
  }
  const choose = (id: string): void => {
    filter = id === filter ? '' : id
    const accepts = summarise(rows).find((each) => each.id === filter)?.accepts
    const indexes = [...rows.entries()].flatMap(([index, row]) => (!accepts || accepts(row) ? [index] : []))
    table.fill(indexes)
    const all = [' ', button('Show all', () => choose(filter))]
    const text = `${plural(indexes.length, 'row')} of ${rows.length} shown.`
    shownOf.replaceChildren(...(filter === '' ? [] : [text, ...all]))
    showSummary()
  }
  const take = ({ key }: ShownRow, step: Omit<Step, 'at'>): void => {
    const made = { ...step, at: new Date().toISOString() }
    trails[key] = [...(trails[key] ?? []), made]
    for (const index of sameKey.get(key) ?? []) {
      const row = rows[index]
      if (row) rows[index] = showRow(row.known, trails[key])
      table.replace(index)
    }
    showSummary()
    const described = describeSummary(summarise(rows))
    addStep(stored.id, key, made)
      .then(() => updateList(stored.id, { summary: described }))
      .catch(fail)
  }
  const decider = createDecider({ rows: () => rows, take })
  const download = (end: string) => () => void saveList(list, rows, { name: stored.name, end, trails }).catch(fail)
  const began = MOMENT.format(new Date(stored.began))
  const element = create('div', { class: 'bought-list' }, [
    create('h1', {}, stored.name),
    summary,
    paragraph(`${plural(rows.length, 'row')}. Begun ${began}, kept in this browser.`, 'quiet'),
    create('p', { class: 'actions' }, [
      decideNext,
      button('Save as .xlsx', download('xlsx')),
      button('Save as .csv', download('csv')),
      link(RECEIPT, 'Receipt for the books'),
      link('/?operation=list', 'New list'),
    ]),
    decider.element,
    shownOf,
    table.element,
  ])
  choose('')
  const update = (next: ListState): void => {
    paid = next.paid
    for (const [index, known] of next.rows.entries()) {
      const [before, now] = [rows[index], showRow(known, trails[known.key])]
      if (known.result.kind === before?.known.result.kind && now.why === before.why) continue
      rows[index] = now
      table.replace(index)
    }
    showSummary()
  }
  return { element, rows, update, summary: () => describeSummary(summarise(rows)) }
}

/** `34 matched (2 dissolved), 3 to decide`. A line never begins with a comma. */
function joined(filters: ReturnType<typeof summarise>, controls: readonly HTMLElement[]): Content[] {
  return filters.flatMap(({ within }, at) => {
    const next = filters[at + 1]
    const isFirst = within !== undefined && filters[at - 1]?.within === undefined
    const isLast = within !== undefined && next?.within === undefined
    const comma = within === undefined && next?.within !== undefined ? '' : ','
    return [create('span', {}, [isFirst ? '(' : '', controls[at], isLast ? ')' : '', comma]), ' ']
  })
}
