/** A list: its table before the purchase, its progress, and its results, which a person can decide and save. */
import { candidateRows, companyRow, describeCandidate } from '../candidate-row.ts'
import { showProgress } from '../../agent/command-line/progress.ts'
import { isBlank, toText } from '../table/cell.ts'
import { ENCODINGS } from '../table/decode-text.ts'
import { parseTable, type ReadOptions, type Table } from '../table/read-table.ts'
import { encodeTable } from '../table/write-table.ts'
import { TableError } from '../table/table-error.ts'
import { namesOf, type ColumnNames } from '../lists/columns.ts'
import { proposeHeader, ROWS_ABOVE_MAX } from '../lists/header.ts'
import { NO_COLUMNS, proposeColumns } from '../lists/propose-columns.ts'
import { describeSheet, readList, resultCells, resultHead, type List } from '../lists/list.ts'
import { describePlan, planList, reviewKey, type Plan } from '../lists/plan.ts'
import { decisionOf } from '../lists/result-columns.ts'
import { listPurchases, paidAmount } from '../library/purchase-state.ts'
import { restOfList } from '../lists/rest-of-list.ts'
import { pastedSeparator } from '../lists/typed-lines.ts'
import { choose, NONE, type RowCells } from '../lists/rows.ts'
import { openListBuyer, runList, type BoughtRow } from '../lists/run.ts'
import { button, create, details, find, link, paragraph, save, table, type Content } from './elements.ts'
import { present, withdraw } from './view.ts'
import { connect, describe, holdRows, NO_SIGNER, say, SHARED } from './purchase.ts'
import { toDay } from '../../base/day.ts'
import { baseUrl, mode, showPrice, urlOf } from './question.ts'
import { storage } from './storage.ts'
import { plural, toHead, toWords, usdc } from './words.ts'

/** Each 25 names need a signature in the wallet. */
const ROWS_MAX = 1_000
/** Rows and faults before the purchase. */
const SHOWN_MAX = 5
/** Browsers limit the size of a history entry, and how often it is replaced. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024
/** After this time without a key, typed lines are read. */
const TYPING_MS = 300

/** A list as it was given, and what a person has chosen for it. Without a choice, header and columns are proposed. */
interface Given extends ReadOptions {
  bytes: Uint8Array<ArrayBuffer>
  /** From 1, or 0 without a header. */
  headerRow?: number | undefined
  columns?: ColumnNames<keyof RowCells> | undefined
  /** The numbers of companies, by the review keys of rows. */
  decided: Map<string, string>
}

const lines = find('#lines') as HTMLTextAreaElement
const file = find('#file') as HTMLInputElement

/** What the button does. */
export let press = async (): Promise<void> => {}

/** Sets the button. Returns whether it still has this work: another list can be chosen meanwhile. */
function offer(verb: string, price = 0, work = async () => {}): () => boolean {
  press = work
  showPrice(verb, price)
  return () => press === work
}

/** The history entry keeps the list for a reload and for Back. */
const keep = (given: Given) => history.replaceState(given.bytes.length > KEPT_BYTES_MAX ? null : given, '')

async function take(): Promise<void> {
  const isNewest = offer('Reading the list')
  const [chosen] = file.files ?? []
  if (!chosen) await SHARED.runtime.sleep(TYPING_MS)
  const bytes = chosen ? new Uint8Array(await chosen.arrayBuffer()) : new TextEncoder().encode(lines.value)
  const options = chosen ? { name: chosen.name } : { name: 'List', separator: pastedSeparator(lines.value) }
  if (isNewest()) await read({ ...options, bytes, decided: new Map() })
}

const planOf = (list: List) => planList(list, { storage, baseUrl, mode, now: new Date(), isBatched: true })

/** Shows what the list is before anything is paid. Faults of a file are texts of the page. */
async function read(given: Given): Promise<void> {
  const isNewest = offer('Reading the list')
  say('')
  try {
    const cells = await parseTable(given.bytes, given)
    const { row: headerRow, doubt } =
      given.headerRow === undefined ? proposeHeader(cells.rows) : { row: given.headerRow, doubt: undefined }
    if (doubt !== undefined) {
      if (isNewest()) askHeader(given, doubt, cells)
      return
    }
    const { columns = proposeColumns(cells.rows, headerRow) } = given
    const list = readList(cells, { columns, headerRow })
    if (list.rows.length > ROWS_MAX)
      throw new TableError(`The list has more than ${ROWS_MAX} rows. Use irish-company-agent-client reconcile`)
    const plan = await planOf(list)
    if (isNewest()) preview({ ...given, headerRow, columns }, list, { plan, cells })
  } catch (cause) {
    if (!isNewest()) return
    offer('Buy the list')
    if (!(cause instanceof TableError)) return say(describe(cause), 'fault')
    withdraw(paragraph(`${cause.message}.`, 'fault'), ...(cause.argument === 'encoding' ? [chooseEncoding(given)] : []))
  }
}

const numbered = (noun: string, length: number) => Array.from({ length }, (_, at) => `${noun} ${at + 1}`)

function preview(given: Given, list: List, { plan, cells }: { plan: Plan; cells: Table }): void {
  const { headerRow = 0, columns = {} } = given
  const titles = list.header?.map(toText) ?? numbered('Column', list.width)
  const heads = numbered('Row', Math.min(ROWS_ABOVE_MAX, headerRow + list.rows.length))
  const shown = list.rows.slice(0, SHOWN_MAX).map(({ row }) => row.map(toText))
  const again = (change: Partial<Given>) => void read({ ...given, ...change })
  withdraw(
    create('div', { class: 'actions' }, [
      given.encoding && chooseEncoding(given),
      cells.sheets.length > 1 ? chooseSheet(given, cells) : undefined,
      list.hidden > 0 || given.hasHiddenRows ? chooseHidden(given) : undefined,
      choice('Header', headerRow, ['none', ...heads], (at) => again({ headerRow: at, columns: undefined })),
      (['name', 'company_number', 'eircode', 'address'] as const).map((field) => {
        const chosen = namesOf(columns[field]).map(Number)
        const joined = chosen.length > 1 ? [chosen.map((at) => titles[at - 1]).join(' + ')] : []
        const at = joined.length > 0 ? titles.length + 1 : (chosen[0] ?? 0)
        return choice(toHead(toWords(field)), at, ['not read', ...titles, ...joined], (column) => {
          const change = column > titles.length ? columns[field] : column
          again({ columns: { ...columns, [field]: change === 0 ? undefined : change } })
        })
      }),
    ]),
    ...(columns.name === undefined && columns.company_number === undefined
      ? [paragraph(`${NO_COLUMNS}. Choose one.`, 'fault')]
      : []),
    ...describeSheet(cells, list.hidden, '').map((text) => paragraph(text)),
    ...announce(list, plan),
    table(titles, shown),
  )
  keep(given)
  const run = async () => {
    const now = await planOf(list)
    // Another tab can have bought rows before the lock.
    if (now.left !== plan.left) return read(given)
    await buyList(given, list, now)
    offer('Back to the list', 0, () => read(given))
  }
  const operations = plan.rows.flatMap(({ operation }) => operation ?? [])
  const verb = plan.left === 0 ? `Show ${plural(list.rows.length, 'row')}` : 'Buy the list'
  offer(verb, plan.left, () => holdRows(operations, 'exclusive', run))
}

/** @param at the index of the chosen text, as `change` gets it */
function choice(label: string, at: number, texts: readonly string[], change: (at: number) => void): HTMLElement {
  const select: HTMLSelectElement = create('select', { change: () => change(select.selectedIndex) })
  select.append(...texts.map((text) => new Option(text)))
  select.selectedIndex = at
  return create('label', {}, [label, ' ', select])
}

function chooseEncoding(given: Given): HTMLElement {
  const change = (at: number) => void read({ ...given, encoding: ENCODINGS[at - 1] })
  return choice('Encoding', ENCODINGS.indexOf(given.encoding ?? '') + 1, ['not known', ...ENCODINGS], change)
}

function chooseSheet(given: Given, { sheet = '', sheets }: Table): HTMLElement {
  const change = (at: number) => void read({ ...given, sheet: sheets[at], headerRow: undefined, columns: undefined })
  return choice('Sheet', sheets.indexOf(sheet), sheets, change)
}

function chooseHidden(given: Given): HTMLElement {
  const change = (at: number) => void read({ ...given, hasHiddenRows: at === 1 })
  return choice('Hidden rows', given.hasHiddenRows ? 1 : 0, ['left out', 'read'], change)
}

/** Asks which row is the header. Nothing is bought before. */
function askHeader(given: Given, doubt: string, cells: Table): void {
  offer('Buy the list')
  const texts = ['not known', 'none', ...numbered('Row', Math.min(ROWS_ABOVE_MAX, cells.rows.length))]
  const change = (at: number) => void read(at === 0 ? given : { ...given, headerRow: at - 1 })
  const sheets = cells.sheets.length > 1 ? [chooseSheet(given, cells)] : []
  withdraw(paragraph(`${doubt}.`, 'fault'), ...sheets, choice('Header', 0, texts, change))
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

async function buyList(given: Given, list: List, plan: Plan): Promise<void> {
  const rows: BoughtRow[] = []
  const show = showProgress({ showStatus: say, now: SHARED.runtime.now })
  const tell = () => show({ phase: 'List', rows: rows.length, share: rows.length / list.rows.length })
  const key = plan.left === 0 ? NO_SIGNER : await connect(plan.left)
  const buy = openListBuyer({ ...SHARED, baseUrl, key, allowance: { left: plan.left } })
  tell()
  try {
    for await (const results of runList(plan, { baseUrl, buy, runtime: SHARED.runtime, numberColumn: undefined })) {
      rows.push(...results)
      tell()
    }
    say('')
  } catch (cause) {
    say(`${describe(cause, { isPart: true })} The rows that are paid are kept.`, 'fault')
    const rest = restOfList(await planOf(list), { storage, baseUrl, from: rows.length })
    for await (const row of rest) rows.push(row)
  }
  const after = await listPurchases(storage, new Date())
  showResults(given, list, rows, paidAmount(after) - paidAmount(plan.purchased.all))
}

/** The rows of the list in its order, with what a person has decided. `paid` is in micro-USDC. */
function showResults(given: Given, list: List, bought: readonly BoughtRow[], paid: number): void {
  const keyOf = ({ listed }: BoughtRow) => reviewKey(listed.cells)
  const download = async (end: string, rows: readonly BoughtRow[]) => {
    const options = { receiptFolder: 'purchases', today: toDay(new Date()), hasAllColumns: false }
    const cells = rows.map(({ listed, result }) => resultCells(listed, result, options))
    const name = `${given.name.replace(/\.\w+$/, '')}-companies.${end}`
    const { format, width: addedFrom } = list
    const headerRow = list.header && list.above.length + 1
    save(name, await encodeTable([...resultHead(list, name), ...cells], { name, format, addedFrom, headerRow }))
  }
  const show = (wanted: string): void => {
    const decided = (row: BoughtRow) => choose(row.result, given.decided.get(keyOf(row)) ?? '') ?? row.result
    const rows = bought.map((row) => ({ ...row, result: decided(row) }))
    const reached = rows.filter(({ result }) => result.kind !== 'left')
    const rowsOf = (of: string) => rows.filter(({ result }) => of === 'all' || decisionOf(result) === of)
    const decisions = [...new Set(['all', wanted, ...rows.map(({ result }) => decisionOf(result))])]
    const texts = decisions.map((each) => `${toWords(each)} ${rowsOf(each).length}`)
    const cells = rowsOf(wanted).map((row) => {
      const { listed, result } = row
      const asked = Object.values(listed.cells).filter((text) => !isBlank(text))
      const decide = (number: string) => {
        given.decided.set(keyOf(row), number)
        keep(given)
        show(wanted)
      }
      return [String(listed.at), asked.join(', '), toWords(decisionOf(result)), showResult(row, decide)]
    })
    present(
      create('h1', {}, `${plural(reached.length, 'row')} of ${rows.length}`),
      paragraph(`Paid: ${usdc(paid)}.`),
      create('div', { class: 'actions' }, [
        choice('Decision', decisions.indexOf(wanted), texts, (at) => show(decisions[at] ?? '')),
        ['xlsx', 'csv'].map((end) => button(`Save as .${end}`, () => void download(end, rows))),
      ]),
      table(['Row', 'Asked', 'Decision', 'Company'], cells),
    )
  }
  show('all')
}

/** @param decide takes the number of a candidate, or nothing to take the decision back */
function showResult({ listed, result }: BoughtRow, decide: (number: string) => void): Content {
  if (result.kind === 'empty' || result.kind === 'refused' || result.kind === 'left') return listed.notes.join('; ')
  const undo = result.kind === 'chosen' || result.kind === 'none' ? [' ', button('Undo', () => decide(''))] : []
  if (result.kind === 'none') return ['none of the candidates', undo]
  const company = result.kind === 'bought' ? result.answer.match?.company : result.answer.company
  if (company) {
    const { company_number } = company
    return [link(urlOf('lookup', { company_number }), toWords(describeCandidate(companyRow(company)))), undo]
  }
  if (result.kind !== 'bought') return ''
  const candidates = candidateRows(result.answer).map((candidate) => {
    const text = toWords(`${describeCandidate(candidate)}: ${candidate.reason}`)
    return create('li', {}, [text, ' ', button('Choose', () => decide(candidate.number))])
  })
  if (candidates.length === 0) return 'nothing similar'
  const none = button('None of them', () => decide(NONE))
  return details(plural(candidates.length, 'candidate'), [create('ol', {}, candidates), none])
}

lines.addEventListener('input', () => {
  file.value = ''
  void take()
})
file.addEventListener('change', () => void take())
const kept = history.state as Given | null
// A person can type or choose a file before this code has loaded.
if (lines.value !== '' || file.value !== '') void take()
else if (kept) {
  if (kept.separator) lines.value = new TextDecoder().decode(kept.bytes)
  void read(kept)
}
