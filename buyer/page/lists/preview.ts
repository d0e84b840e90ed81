/** A list before its purchase: its columns, its faults, its price, and how often the wallet asks. */
import { toHead, toSentence } from '../../../base/grammar.ts'
import { isBlank, toText } from '../../table/cell.ts'
import { ENCODINGS } from '../../table/decode-text.ts'
import type { ReadOptions, Table } from '../../table/read-table.ts'
import { ROWS_ABOVE_MAX } from '../../lists/header.ts'
import { describeSheet, type List } from '../../lists/list.ts'
import type { Plan } from '../../lists/plan.ts'
import { namesOf, type ColumnNames } from '../../lists/columns.ts'
import { describeColumn, findUnreadNumbers, NO_COLUMNS } from '../../lists/propose-columns.ts'
import type { RowCells } from '../../lists/rows.ts'
import { copyButton, create, paragraph, table } from '../elements.ts'
import { account, baseUrl, mode } from '../question.ts'
import { withdraw } from '../view.ts'
import { plural, toWords, usdc, withoutTechnical } from '../words.ts'
import { offer, offerNothing } from './button.ts'
import { reconcileCommand } from './reconcile-command.ts'

/** Each 25 names need a signature in the wallet. */
export const ROWS_MAX = 1_000
/** The name of a list that is typed. */
export const TYPED_NAME = 'List'
/** Rows and faults that are shown. */
const SHOWN_MAX = 5

/** A list as it was given, and what a person has chosen for it. Without a choice, header and columns are proposed. */
export interface Given extends ReadOptions {
  bytes: Uint8Array<ArrayBuffer>
  /** From 1, or 0 without a header. */
  headerRow?: number | undefined
  columns?: ColumnNames<keyof RowCells> | undefined
}

export type ReadAgain = (given: Given) => void

const numbered = (noun: string, length: number) => Array.from({ length }, (_, at) => `${noun} ${at + 1}`)

/** The columns by their headers or numbers. */
const titlesOf = ({ header, width }: List): string[] => header?.map(toText) ?? numbered('Column', width)

interface Previewed {
  given: Given
  table: Table
  list: List
  plan: Plan
}

/** Shows what the list is before anything is paid. `buy` is what the button does. */
export function preview(
  { given, table: cells, list, plan }: Previewed,
  again: ReadAgain,
  buy: () => Promise<void>,
): void {
  const titles = titlesOf(list)
  const shown = list.rows.slice(0, SHOWN_MAX).map(({ row }) => row.map(toText))
  const { columns = {} } = given
  const isAsked = columns.name !== undefined || columns.company_number !== undefined
  const announced = isAsked ? announce(list, plan) : [paragraph(`${NO_COLUMNS}. Choose one.`, 'fault')]
  const controls = [
    given.encoding && chooseEncoding(given, again),
    cells.sheets.length > 1 && chooseSheet(given, cells, again),
    (list.hidden > 0 || given.hasHiddenRows) && chooseHidden(given, again),
    ...chooseColumns(given, list, again),
  ]
  const unread = findUnreadNumbers(columns, { rows: cells.rows, headerRow: given.headerRow ?? 0 })
  const hint =
    unread === undefined
      ? []
      : [`${toHead(describeColumn(unread, list.header))} is not read. If it has company numbers, choose it.`]
  withdraw(
    create(
      'div',
      { class: 'actions' },
      controls.filter((each) => each instanceof HTMLElement),
    ),
    ...hint.map((text) => paragraph(text, 'fault')),
    ...describeSheet(cells, list.hidden, '').map((text) => paragraph(text)),
    ...announced,
    table(titles, shown),
  )
  if (!isAsked) return offerNothing()
  offer(plan.left === 0 ? `Show ${plural(list.rows.length, 'row')}` : 'Buy the list', plan.left, buy)
}

function chooseColumns(given: Given, list: List, again: ReadAgain): HTMLElement[] {
  const { headerRow = 0, columns = {} } = given
  const titles = titlesOf(list)
  const heads = numbered('Row', Math.min(ROWS_ABOVE_MAX, headerRow + list.rows.length))
  return [
    choice('Header', headerRow, ['none', ...heads], (at) => again({ ...given, headerRow: at, columns: undefined })),
    ...(['name', 'company_number', 'eircode', 'address'] as const).map((field) => {
      const chosen = namesOf(columns[field]).map(Number)
      const joined = chosen.length > 1 ? [chosen.map((at) => titles[at - 1]).join(' + ')] : []
      const shown = joined.length > 0 ? titles.length + 1 : (chosen[0] ?? 0)
      return choice(toHead(toWords(field)), shown, ['not read', ...titles, ...joined], (column) => {
        const changed = column > titles.length ? columns[field] : column
        again({ ...given, columns: { ...columns, [field]: changed === 0 ? undefined : changed } })
      })
    }),
  ]
}

/** @param at the index of the chosen text, as `change` gets it */
function choice(label: string, at: number, texts: readonly string[], change: (at: number) => void): HTMLElement {
  const select: HTMLSelectElement = create('select', { change: () => change(select.selectedIndex) })
  select.append(...texts.map((text) => new Option(text)))
  select.selectedIndex = at
  return create('label', {}, [label, ' ', select])
}

export function chooseEncoding(given: Given, again: ReadAgain): HTMLElement {
  const change = (at: number) => again({ ...given, encoding: ENCODINGS[at - 1] })
  return choice('Encoding', ENCODINGS.indexOf(given.encoding ?? '') + 1, ['not known', ...ENCODINGS], change)
}

function chooseSheet(given: Given, { sheet = '', sheets }: Table, again: ReadAgain): HTMLElement {
  const change = (at: number) => again({ ...given, sheet: sheets[at], headerRow: undefined, columns: undefined })
  return choice('Sheet', sheets.indexOf(sheet), sheets, change)
}

function chooseHidden(given: Given, again: ReadAgain): HTMLElement {
  const change = (at: number) => again({ ...given, hasHiddenRows: at === 1 })
  return choice('Hidden rows', given.hasHiddenRows ? 1 : 0, ['left out', 'read'], change)
}

/** Asks which row is the header. Nothing is bought before. */
export function askHeader(given: Given, doubt: string, cells: Table, again: ReadAgain): void {
  offerNothing()
  const texts = ['not known', 'none', ...numbered('Row', Math.min(ROWS_ABOVE_MAX, cells.rows.length))]
  const change = (at: number) => again(at === 0 ? given : { ...given, headerRow: at - 1 })
  const sheets = cells.sheets.length > 1 ? [chooseSheet(given, cells, again)] : []
  withdraw(paragraph(toSentence(doubt), 'fault'), ...sheets, choice('Header', 0, texts, change))
}

/** Sentences before the purchase: the price, how often the wallet asks, and the faults of rows. */
function announce({ rows }: List, plan: Plan): HTMLElement[] {
  const { paid, open, toPay, left, payments, againMax } = plan
  const unread = rows.filter(({ kind }) => kind !== 'valid').length
  const counts = [
    toPay > 0 && `${toPay} to buy for ${againMax > 0 ? 'at most ' : ''}${usdc(left)}`,
    paid > 0 && `${paid} paid before`,
    open > 0 && `${open} without an answer yet`,
    unread > 0 && `${unread} not read`,
  ].filter(Boolean)
  const equal = rows.length - unread - toPay - paid - open
  if (equal > 0) counts.push(`${equal} equal to others`)
  const again = ` Up to ${plural(againMax, 'row')} whose number no company has can be asked by the name too.`
  const wallet =
    payments === 0 ? '' : ` The wallet asks for ${plural(payments, 'signature')}.${againMax > 0 ? again : ''}`
  const faults = rows.flatMap(({ at, kind, notes, row }) => {
    if (kind === 'empty' && notes.length === 0 && row.every(isBlank)) return []
    const shown = notes.length > 0 ? notes : kind === 'empty' ? ['no name and no number'] : []
    return shown.length > 0 ? [`Row ${at}: ${shown.map(withoutTechnical).map(toWords).join('; ')}.`] : []
  })
  const more = faults.length - SHOWN_MAX
  if (more > 0) faults.splice(SHOWN_MAX, more, `And ${more} more.`)
  return [
    paragraph(create('strong', {}, `${plural(rows.length, 'row')}: ${counts.join(', ')}.${wallet}`)),
    ...faults.map((text) => paragraph(text, 'fault')),
  ]
}

/** A list that only the command buys: no price and no button, but the whole command. */
export function showTooLong(given: Given, rows: number): void {
  offerNothing()
  const isTyped = given.name === TYPED_NAME
  const file = isTyped ? 'list.tsv' : given.name
  const { headerRow = 0, columns = {}, encoding, sheet, hasHiddenRows } = given
  const read = { headerRow, columns, encoding, sheet, hasHiddenRows }
  const command = reconcileCommand({ file, rows, ...read, baseUrl, mode, account })
  const save = isTyped ? ` Save the lines as ${file}, then run:` : ' This command buys it:'
  withdraw(
    paragraph(
      `The page buys at most ${plural(ROWS_MAX, 'row')}, and the list has ${rows.toLocaleString('en-IE')}.${save}`,
      'fault',
    ),
    create('pre', { tabindex: '0' }, command),
    copyButton(command),
  )
}
