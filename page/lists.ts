/** A list: its table before the purchase, its progress, and its results, which a person can decide and save. */
import { candidateRows, companyRow, describeCandidate } from '../agent/command-line/candidate-row.ts'
import { showProgress } from '../agent/command-line/progress.ts'
import { isBlank, toText, type Cell } from '../agent/command-line/table/cell.ts'
import { findHeaderRow, parseTable, ROWS_ABOVE_MAX, type Table } from '../agent/command-line/table/read-table.ts'
import { encodeTable } from '../agent/command-line/table/write-table.ts'
import { TableError } from '../agent/command-line/table/table-error.ts'
import { decisionOf } from '../agent/buyer/lists/columns.ts'
import { readList, resultCells, resultHead, type List } from '../agent/buyer/lists/list.ts'
import { describePlan, planList, type Plan } from '../agent/buyer/lists/plan.ts'
import { listPurchases, sumOf } from '../agent/buyer/library/purchase-state.ts'
import { choose, type RowCells } from '../agent/buyer/lists/rows.ts'
import { openListBuyer, runList, type BoughtRow } from '../agent/buyer/lists/run.ts'
import { button, create, details, find, link, paragraph, save, table, type Content } from './elements.ts'
import { present, withdraw } from './answers.ts'
import { connect, describe, NO_SIGNER, say, SHARED } from './purchase.ts'
import { baseUrl, mode, showPrice, urlOf } from './question.ts'
import { storage } from './storage.ts'
import { plural, toWords, usdc } from './words.ts'

/** The columns that are read, and their usual headers. The last one that fits counts. */
const COLUMNS: readonly { field: keyof RowCells; title: string; header: RegExp }[] = [
  { field: 'name', title: 'Name', header: /name|company|supplier|customer|vendor|client/i },
  { field: 'company_number', title: 'Company number', header: /number|cro|\bno\b|reg/i },
  { field: 'eircode', title: 'Eircode', header: /eircode|post/i },
  { field: 'address', title: 'Address', header: /address/i },
]
/** Each 25 names need a signature in the wallet. */
const ROWS_MAX = 1_000
/** Rows and faults before the purchase. */
const SHOWN_MAX = 5

const lines = find('#lines') as HTMLTextAreaElement
const file = find('#file') as HTMLInputElement

/** What the button does. */
let run: (() => Promise<void>) | undefined
export const press = async (): Promise<void> => run?.()

/**
 * Shows what the list is before anything is paid. Faults of a file are texts of the page.
 * @param headerRow from 1, or 0 without a header; by default it is proposed, as the columns are
 */
async function read(headerRow?: number, columns?: RowCells): Promise<void> {
  run = undefined
  const [chosen] = file.files ?? []
  const bytes = chosen ? await chosen.arrayBuffer() : new TextEncoder().encode(lines.value)
  const options = { name: chosen?.name ?? 'The list', separator: chosen ? undefined : '\t' }
  try {
    await preview(await parseTable(new Uint8Array(bytes), options), headerRow, columns)
  } catch (cause) {
    if (!(cause instanceof TableError)) throw cause
    withdraw(paragraph(`${cause.message}.${cause.doubt ? ' Save it as CSV in UTF-8.' : ''}`, 'fault'))
  }
}

const fieldOf = (cell: Cell) => COLUMNS.findLast(({ header }) => header.test(toText(cell)))?.field

/** A header has the name of a column that is usually read. */
function proposeHeaderRow({ rows }: Table): number {
  const row = findHeaderRow(rows)
  return rows[row - 1]?.some(fieldOf) ? row : 0
}

/** The first column of each field. Without a known header, the first column is that of the names. */
function proposeColumns(header: readonly Cell[]): RowCells {
  const columns: RowCells = {}
  for (const [at, cell] of header.entries()) {
    const field = fieldOf(cell)
    if (field) columns[field] ??= String(at + 1)
  }
  return columns.name || columns.company_number ? columns : { ...columns, name: '1' }
}

async function preview(
  given: Table,
  headerRow = proposeHeaderRow(given),
  columns = proposeColumns(given.rows[headerRow - 1] ?? []),
): Promise<void> {
  const list = readList(given, { columns, headerRow })
  if (list.rows.length > ROWS_MAX)
    throw new TableError(`The list has more than ${ROWS_MAX} rows. Use irish-company-agent-client reconcile`)
  const plan = await planList(list, { storage, baseUrl, mode, now: new Date(), isBatched: true })
  const titles = list.header?.map(toText) ?? given.rows[0]?.map((_, at) => `Column ${at + 1}`) ?? []
  const rows = given.rows.slice(0, ROWS_ABOVE_MAX).map((_, at) => `Row ${at + 1}`)
  const shown = list.rows.slice(0, SHOWN_MAX).map(({ row }) => row.map(toText))
  withdraw(
    create('div', { class: 'actions' }, [
      choice('Header', String(headerRow), numbered('none', rows), (row) => void read(Number(row))),
      COLUMNS.map(({ field, title }) =>
        choice(title, columns[field] ?? '0', numbered('not read', titles), (column) => {
          void read(headerRow, { ...columns, [field]: column === '0' ? undefined : column })
        }),
      ),
    ]),
    ...announce(list, plan),
    table(titles, shown),
  )
  showPrice(plan.left === 0 ? `Show ${plural(list.rows.length, 'row')}` : 'Buy the list', plan.left)
  run = async () => {
    await buyList(list, plan)
    // The rows of the next run are paid.
    showPrice('Back to the list')
    run = () => read(headerRow, columns)
  }
}

type Choice = [value: string, text: string]

const numbered = (none: string, texts: string[]) => [none, ...texts].map((text, at): Choice => [String(at), text])

function choice(label: string, value: string, options: Choice[], change: (value: string) => void): HTMLElement {
  const select: HTMLSelectElement = create('select', { change: () => change(select.value) })
  select.append(...options.map(([of, text]) => new Option(text, of, false, of === value)))
  return create('label', {}, [label, ' ', select])
}

/** Sentences before the purchase: the price, how often the wallet asks, and the faults of rows. */
function announce({ rows }: List, plan: Plan): HTMLElement[] {
  const faults = rows.flatMap(({ at, notes }) => (notes.length > 0 ? [`Row ${at}: ${notes.join('; ')}.`] : []))
  const wallet = plan.payments === 0 ? '' : ` The wallet asks for ${plural(plan.payments, 'signature')}.`
  const more = faults.length - SHOWN_MAX
  if (more > 0) faults.splice(SHOWN_MAX, more, `And ${more} more.`)
  return [
    paragraph(create('strong', {}, `${describePlan(plan)} ${usdc(plan.left)} to pay.${wallet}`)),
    ...faults.map((text) => paragraph(text, 'fault')),
  ]
}

async function buyList(list: List, plan: Plan): Promise<void> {
  const done: BoughtRow[] = []
  let isStopped = false
  const end = button('Stop after these payments', () => void (isStopped = true))
  const show = showProgress({ note: (text) => say(text, '', end), now: SHARED.runtime.now, isTerminal: true })
  const tell = () => show({ phase: 'List', rows: done.length, share: done.length / list.rows.length })
  const key = plan.left === 0 ? NO_SIGNER : await connect(plan.left)
  const buy = openListBuyer({ ...SHARED, baseUrl, key, allowance: { left: plan.left } })
  tell()
  try {
    for await (const results of runList(plan, { baseUrl, buy, runtime: SHARED.runtime })) {
      done.push(...results)
      tell()
      if (isStopped) break
    }
    say(isStopped ? 'Stopped. The rows that are paid are kept.' : '')
  } catch (cause) {
    say(`${describe(cause, true)} The rows that are paid are kept.`, 'fault')
  }
  const after = await listPurchases(storage, new Date())
  showResults(list, done, sumOf(after, 'paid') - sumOf(plan.purchased.all, 'paid'))
}

/** The rows of the list in its order, of one decision if a person has chosen it. `paid` is in micro-USDC. */
function showResults(list: List, rows: BoughtRow[], paid: number): void {
  const rowsOf = (wanted: string) => rows.filter(({ result }) => wanted === 'all' || decisionOf(result) === wanted)
  const shown = create('div')
  const draw = (wanted: string) => {
    const cells = rowsOf(wanted).map((row) => {
      const { listed, result } = row
      const asked = Object.values(listed.cells).filter((text) => !isBlank(text))
      const answer = showResult(row, () => showResults(list, rows, paid))
      return [String(listed.at), asked.join(', '), toWords(decisionOf(result)), answer]
    })
    shown.replaceChildren(table(['Row', 'Asked', 'Decision', 'Company'], cells))
  }
  draw('all')
  const decisions = ['all', ...new Set(rows.map(({ result }) => decisionOf(result)))]
  const options = decisions.map((each): Choice => [each, `${toWords(each) || 'empty'} ${rowsOf(each).length}`])
  const download = async (end: string) => {
    const cells = rows.map(({ listed, result }) => resultCells(listed, result, 'purchases'))
    const name = `${file.files?.[0]?.name.replace(/\.\w+$/, '') ?? 'list'}-companies.${end}`
    const { format, width: addedFrom } = list
    save(name, await encodeTable([...resultHead(list, name), ...cells], { name, format, addedFrom }))
  }
  present(
    create('h1', {}, `${plural(rows.length, 'row')} of ${list.rows.length}`),
    paragraph(`Paid: ${usdc(paid)}.`),
    create('div', { class: 'actions' }, [
      choice('Decision', 'all', options, draw),
      ['xlsx', 'csv'].map((end) => button(`Save as .${end}`, () => void download(end))),
    ]),
    shown,
  )
}

/** @param redraw called when a person has chosen a candidate */
function showResult(row: BoughtRow, redraw: () => void): Content {
  const { listed, result } = row
  if (result.kind === 'empty' || result.kind === 'refused') return listed.notes.join('; ')
  const company = result.kind === 'bought' ? result.answer.match?.company : result.answer.company
  const shown = company && companyRow(company)
  if (shown) return link(urlOf('lookup', { company_number: shown.number }), describeCandidate(shown))
  if (result.kind !== 'bought') return ''
  const candidates = candidateRows(result.answer).map((candidate) => {
    const take = () => {
      row.result = choose(result, candidate.number) ?? result
      redraw()
    }
    return create('li', {}, [`${describeCandidate(candidate)}: ${candidate.reason} `, button('Choose', take)])
  })
  if (candidates.length === 0) return 'nothing similar'
  return details(plural(candidates.length, 'candidate'), create('ol', {}, candidates))
}

lines.addEventListener('input', () => {
  file.value = ''
  void read()
})
file.addEventListener('change', () => void read())
// A person can type before this code is loaded.
if (lines.value !== '') void read()
