/** A list: its table before the purchase, its progress, and its results, which a person can decide and save. */
import { candidateRows } from '../agent/command-line/candidate-row.ts'
import { isBlank, toText, type Cell } from '../agent/command-line/table/cell.ts'
import { findHeaderRow, parseTable, type Table } from '../agent/command-line/table/read-table.ts'
import { TableError } from '../agent/command-line/table/table-error.ts'
import { encodeTable } from '../agent/command-line/table/write-table.ts'
import { decisionOf } from '../agent/buyer/lists/columns.ts'
import { readList, resultCells, resultHeader, type List, type ListedRow } from '../agent/buyer/lists/list.ts'
import { planList, type Plan } from '../agent/buyer/lists/plan.ts'
import { choose, type RowCells, type RowResult } from '../agent/buyer/lists/rows.ts'
import { openBuyers, runList, type BoughtRow } from '../agent/buyer/lists/run.ts'
import type { Operation } from '../agent/operation/operation.ts'
import { button, create, find, link, paragraph, plural, save, table, usdc, type Content } from './elements.ts'
import { connect, describe, NO_SIGNER, say, SHARED } from './purchase.ts'
import { baseUrl, mode, priceOf, urlOf } from './question.ts'
import { storage } from './storage.ts'

/** Headers of the columns that are usually read. */
const HEADERS: Record<keyof RowCells, RegExp> = {
  name: /name|company|supplier|customer|vendor|client/i,
  company_number: /number|cro|\bno\b|reg/i,
  eircode: /eircode|post/i,
  address: /address/i,
}
const FIELDS = Object.keys(HEADERS) as (keyof RowCells)[]
const ROWS_SHOWN = 5
const FAULTS_SHOWN = 5

const lines = find('#lines') as HTMLTextAreaElement
const file = find('#file') as HTMLInputElement
const answer = find('#answer')

let read: Table | undefined
let name = 'companies'
let run: (() => Promise<void>) | undefined

/** Shows what the list is before anything is paid. Faults of a file are texts of the page. */
async function show(bytes: Uint8Array, encoding?: string): Promise<void> {
  run = undefined
  read = undefined
  const separator = file.files?.length ? undefined : '\t'
  try {
    read = await parseTable(bytes, { name, separator, encoding })
    const proposed = findHeaderRow(read.rows)
    const isHeader = read.rows[proposed - 1]?.some((cell) => FIELDS.some((field) => HEADERS[field].test(toText(cell))))
    await preview(isHeader ? proposed : 0)
  } catch (cause) {
    if (!(cause instanceof TableError)) throw cause
    const again = ['windows-1252', 'utf-16le', 'ibm866', 'macintosh'].map((each) =>
      button(`Read as ${each}`, () => void show(bytes, each)),
    )
    answer.replaceChildren(paragraph(cause.message, 'fault'), ...(cause.doubt ? again : []))
  }
}

/** @param headerRow from 1, or 0 without a header */
async function preview(headerRow: number, chosen?: RowCells): Promise<void> {
  if (!read) return
  document.body.classList.remove('answered')
  const { rows } = read
  const header = rows[Math.max(0, headerRow - 1)] ?? []
  const columns = chosen ?? proposeColumns(header, headerRow > 0)
  const list = readList(read, { columns, headerRow })
  const plan = await planList(list, { storage, baseUrl, mode, now: new Date(), isBatched: true })
  const titles = header.map((cell, at) => (headerRow > 0 ? toText(cell) : `Column ${at + 1}`))
  const choice = (label: string, value: string, options: [string, string][], change: (value: string) => void) => {
    const made: HTMLSelectElement = create('select', { change: () => change(made.value) })
    made.append(...options.map(([of, text]) => new Option(text.slice(0, 40), of, false, of === value)))
    return create('label', {}, label, ' ', made)
  }
  const nameOf = (field: string) => field.replaceAll('_', ' ')
  const headers = rows.slice(0, 20).map((_, at): [string, string] => [String(at + 1), `Row ${at + 1}`])
  answer.replaceChildren(
    create('div', { class: 'actions' }, [
      choice('Header', String(headerRow), [['0', 'none'], ...headers], (value) => void preview(Number(value))),
      FIELDS.map((field) =>
        choice(
          nameOf(field),
          columns[field] ?? '',
          [['', 'not read'], ...titles.map((text, at): [string, string] => [String(at + 1), text])],
          (value) => void preview(headerRow, { ...columns, [field]: value || undefined }),
        ),
      ),
    ]),
    ...describePlan(list, plan),
    table(
      titles.map((text, at) => {
        const field = FIELDS.find((each) => columns[each] === String(at + 1))
        return field ? `${text} → ${nameOf(field)}` : text
      }),
      list.rows.slice(0, ROWS_SHOWN).map(({ row }) => row.map(toText)),
    ),
  )
  const go = find('#go')
  go.textContent = plan.left === 0 ? `Show ${plural(list.rows.length, 'row')}` : `Buy the list, ${usdc(plan.left)}`
  run = async () => {
    await buyList(list, plan)
    // The rows of the next run are paid.
    go.textContent = 'Back to the list'
    run = () => preview(headerRow, columns)
  }
}

/** Without a known header, the fullest column is that of the names. */
function proposeColumns(header: readonly Cell[], hasHeader: boolean): RowCells {
  const columns: RowCells = {}
  if (hasHeader)
    for (const [at, cell] of header.entries()) {
      const field = FIELDS.toReversed().find((each) => columns[each] === undefined && HEADERS[each].test(toText(cell)))
      if (field) columns[field] = String(at + 1)
    }
  if (!columns.name && !columns.company_number) columns.name = '1'
  return columns
}

function describePlan({ rows }: List, plan: Plan): HTMLElement[] {
  const count = (kind: ListedRow['kind']) => rows.filter((row) => row.kind === kind).length
  const faults = rows.flatMap(({ at, notes, kind }) =>
    kind === 'invalid' || notes.length > 0 ? [`Row ${at}: ${notes.join('; ')}.`] : [],
  )
  const parts = [
    plural(rows.length, 'row'),
    plan.paid > 0 && `${plan.paid} bought before`,
    plan.open > 0 && `${plan.open} with an open payment`,
    count('empty') > 0 && `${count('empty')} empty`,
    count('invalid') > 0 && `${count('invalid')} that cannot be read`,
  ].filter(Boolean)
  const wallet = plan.payments === 0 ? '' : ` The wallet asks for ${plural(plan.payments, 'signature')}.`
  return [
    create('p', {}, create('strong', {}, `${parts.join(', ')}. ${usdc(plan.left)} to pay.${wallet}`)),
    ...faults.slice(0, FAULTS_SHOWN).map((text) => paragraph(text, 'fault')),
    ...(faults.length > FAULTS_SHOWN ? [paragraph(`And ${faults.length - FAULTS_SHOWN} more.`, 'fault')] : []),
  ]
}

async function buyList(list: List, plan: Plan): Promise<void> {
  const done: BoughtRow[] = []
  const stop = new AbortController()
  const next = [button('Stop after these payments', () => stop.abort())]
  const tell = () =>
    say(`${done.length} of ${plural(list.rows.length, 'row')} done.`, {
      next,
      total: list.rows.length,
      done: done.length,
    })
  const key = plan.left === 0 ? NO_SIGNER : await connect(plan.left)
  const buyers = openBuyers({ ...SHARED, baseUrl, key, allowance: { left: plan.left } })
  tell()
  const buyerOf = (operation: Operation, rows: number) => buyers(rows * priceOf(operation))
  try {
    for await (const results of runList(plan, { baseUrl, buyerOf, runtime: SHARED.runtime, signal: stop.signal })) {
      done.push(...results)
      tell()
    }
    say('')
  } catch (cause) {
    say(`${describe(cause)} The rows that are paid are kept.`, { kind: 'fault' })
  }
  document.body.classList.add('answered')
  showResults(list, done)
}

/** The rows of the list in its order, of one decision if a person has chosen it. */
function showResults(list: List, rows: BoughtRow[]): void {
  const decisions = [...new Set(rows.map(({ result }) => decisionOf(result)))]
  const filter = create('select', { 'aria-label': 'Decision', change: () => draw() })
  filter.append(
    new Option(`All ${rows.length}`, 'all'),
    ...decisions.map((each) => {
      const count = rows.filter(({ result }) => decisionOf(result) === each).length
      return new Option(`${each || 'empty'} ${count}`, each)
    }),
  )
  const shown = create('div', {})
  const draw = () => {
    const wanted = rows.filter(({ result }) => filter.value === 'all' || decisionOf(result) === filter.value)
    shown.replaceChildren(
      table(
        ['Row', 'Asked', 'Decision', 'Company'],
        wanted.map((row) => showRow(row, () => showResults(list, rows))),
      ),
    )
  }
  draw()
  const cells = () => {
    const header = resultHeader(list)
    return [...list.above.map((row) => [...row]), ...(header ? [header] : [])].concat(
      rows.map(({ listed, result }) => resultCells(listed, result, 'purchases')),
    )
  }
  const download = async (end: string) => {
    const addedFrom = list.rows[0]?.row.length ?? 0
    const bytes = await encodeTable(cells(), { name: `x.${end}`, format: list.format, addedFrom })
    save(`${name.replace(/\.\w+$/, '')}-companies.${end}`, 'application/octet-stream', bytes as BlobPart)
  }
  const saves = ['xlsx', 'csv'].map((end) => button(`Save as .${end}`, () => void download(end)))
  const title = create('h1', {}, `${plural(rows.length, 'row')} of ${list.rows.length}`)
  answer.replaceChildren(title, create('div', { class: 'actions' }, filter, saves), shown)
}

/** @param redraw called when a person has chosen a candidate */
function showRow(row: BoughtRow, redraw: () => void): Content[] {
  const { listed, result } = row
  const asked = Object.values(listed.cells).filter((text) => !isBlank(text))
  return [String(listed.at), asked.join(', '), decisionOf(result).replaceAll('_', ' '), showResult(row, result, redraw)]
}

function showResult(row: BoughtRow, result: RowResult, redraw: () => void): Content {
  if (result.kind === 'empty') return ''
  if (result.kind === 'refused') return row.listed.notes.join('; ')
  const company = result.kind === 'bought' ? result.answer.match?.company : result.answer.company
  if (company)
    return [
      link(urlOf('lookup', { company_number: company.company_number }), company.legal_name),
      ` ${company.company_number}, ${company.status ?? ''}`,
    ]
  if (result.kind !== 'bought') return ''
  const rows = candidateRows(result.answer).map(({ number, name: of, status, address, registered_date, reason }) =>
    create(
      'li',
      {},
      `${of}, ${number}, ${status}, ${address}, ${registered_date}: ${reason} `,
      button('Choose', () => {
        row.result = choose(result, number) ?? result
        redraw()
      }),
    ),
  )
  return rows.length === 0
    ? 'nothing similar'
    : create('details', {}, create('summary', {}, plural(rows.length, 'candidate')), create('ol', {}, rows))
}

async function readFile(chosen: File | undefined): Promise<void> {
  if (!chosen) return
  name = chosen.name
  await show(new Uint8Array(await chosen.arrayBuffer()))
}

/** Starts the view. Returns what the button does. */
export function openList(): () => Promise<void> {
  const area = find('fieldset[name=list]')
  const type = () => {
    file.value = ''
    name = 'companies'
    if (lines.value.trim() !== '') void show(new TextEncoder().encode(lines.value))
  }
  lines.addEventListener('input', type)
  file.addEventListener('change', () => void readFile(file.files?.[0]))
  area.addEventListener('dragover', (event) => event.preventDefault())
  area.addEventListener('drop', (event) => {
    event.preventDefault()
    file.files = event.dataTransfer?.files ?? null
    void readFile(file.files?.[0])
  })
  type()
  return async () => run?.()
}
