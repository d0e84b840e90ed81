/**
 * Reads a list, shows its price, buys it, and shows the stored result. A bought list has a URL of its own, which opens
 * it in any tab of this browser.
 */
import { purchaseName } from '../../library/open-buyer.ts'
import { namesOf } from '../../lists/columns.ts'
import { proposeHeader } from '../../lists/header.ts'
import { readList, type List } from '../../lists/list.ts'
import type { Plan } from '../../lists/plan.ts'
import { describeColumn, proposeColumns } from '../../lists/propose-columns.ts'
import { pastedSeparator } from '../../lists/typed-lines.ts'
import { parseTable, type Table } from '../../table/read-table.ts'
import { TableError } from '../../table/table-error.ts'
import { button, create, find, link, paragraph } from '../elements.ts'
import { showPayment } from '../payment.ts'
import { describe, holdRows, say, SHARED } from '../purchase.ts'
import { showRecord, showSource } from '../record.ts'
import { readPurchases } from '../storage.ts'
import { announce, present, withdraw } from '../view.ts'
import { begin, hideButton, offer, offerNothing, restoreButton } from './button.ts'
import {
  batchesOf,
  buyPlan,
  openRows,
  PAUSES_MS,
  planOf,
  paidFor,
  readRows,
  sendStored,
  signerFor,
  untilBack,
  type Ended,
} from './buying.ts'
import { createListView, RECEIPT, type ListView } from './list-view.ts'
import { askHeader, chooseEncoding, preview, ROWS_MAX, showTooLong, TYPED_NAME, type Given } from './preview.ts'
import type { JudgedColumns } from '../../lists/check-numbers.ts'
import { findRecord, type ListedRecord } from './state.ts'
import { listId, readFileOf, storeList, updateList } from './change-list.ts'
import { listUrl, readStored, type StoredList } from './stored-list.ts'

export { press } from './button.ts'

/** Browsers limit the size of a history entry, and how often it is replaced. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024
/** After this time without a key, typed lines are read. */
const TYPING_MS = 300

const lines = find('#lines') as HTMLTextAreaElement
const file = find('#file') as HTMLInputElement

interface OpenedList {
  id: string
  stored: StoredList
  list: List
  view: ListView
  /** Where the page stood when a record was opened. */
  scroll: number
}

/** The list that is shown, which is shown again after one of its records. */
let opened: OpenedList | undefined

/** Runs work of a purchase, one at a time in this document. */
type Exclusively = (work: () => Promise<void>) => Promise<void>

/** Shows what the URL names: a stored list, or the input of a new one. */
export async function openLists(exclusively: Exclusively): Promise<void> {
  const id = new URLSearchParams(location.search).get('list')
  fold(id !== null)
  if (id === null) return openInput()
  if (opened?.id === id) return showOpened(opened)
  const isCurrent = begin()
  offerNothing()
  const stored = await readStored(id)
  const bytes = await readFileOf(id)
  if (!isCurrent()) return
  if (stored && bytes) return showStored(stored, bytes, isCurrent, exclusively)
  const text = 'This browser does not have this list. It was deleted, or bought in another browser.'
  say(text, 'fault', link('/?operation=list', 'New list'))
}

/** The input is folded away while a bought list is shown. */
const fold = (isFolded: boolean) => document.body.classList.toggle('folded', isFolded)

/** The history entry keeps a list that is not bought, for a reload and for Back. */
const keep = (given: Given) => history.replaceState(given.bytes.length > KEPT_BYTES_MAX ? null : given, '')

function openInput(): void {
  opened = undefined
  begin()
  offerNothing()
  const kept = history.state as Given | null
  // A person can type or choose a file before this code has loaded.
  if (lines.value !== '' || file.value !== '') return void take()
  if (!kept) return
  if (kept.name === TYPED_NAME) lines.value = new TextDecoder().decode(kept.bytes)
  void read(kept)
}

async function take(): Promise<void> {
  const isCurrent = begin()
  offer('Reading the list', 0, async () => {})
  const [chosen] = file.files ?? []
  if (!chosen) await SHARED.runtime.sleep(TYPING_MS)
  const bytes = chosen ? new Uint8Array(await chosen.arrayBuffer()) : new TextEncoder().encode(lines.value)
  const options = chosen ? { name: chosen.name } : { name: TYPED_NAME, separator: pastedSeparator(lines.value) }
  if (isCurrent()) await read({ ...options, bytes })
}

const again = (given: Given) => void read(given)

/** Shows what the list is before anything is paid, or the same list as it was bought. */
async function read(given: Given): Promise<void> {
  const isCurrent = begin()
  offer('Reading the list', 0, async () => {})
  say('')
  try {
    const table = await parseTable(given.bytes, given)
    const isProposed = given.columns === undefined && given.headerRow === undefined
    const stored = isProposed ? await readStored(listId(table)) : undefined
    if (!isCurrent()) return
    if (!stored) return await readNew(given, table, isCurrent)
    openUrl(stored.id)
  } catch (cause) {
    if (!isCurrent()) return
    offerNothing()
    if (!(cause instanceof TableError)) return say(describe(cause), 'fault')
    const encoding = cause.argument === 'encoding' ? [chooseEncoding(given, again)] : []
    withdraw(paragraph(`${cause.message}.`, 'fault'), ...encoding)
  }
}

/** Opens a stored list in place of what is shown. */
function openUrl(id: string): void {
  history.replaceState(null, '', listUrl(id))
  dispatchEvent(new PopStateEvent('popstate'))
}

/** @throws TableError */
async function readNew(given: Given, table: Table, isCurrent: () => boolean): Promise<void> {
  const { row: headerRow, doubt } =
    given.headerRow === undefined ? proposeHeader(table.rows) : { row: given.headerRow, doubt: undefined }
  if (doubt !== undefined) return askHeader(given, doubt, table, again)
  const { columns = proposeColumns(table.rows, headerRow) } = given
  const list = readList(table, { columns, headerRow })
  const chosen = { ...given, headerRow, columns }
  if (list.rows.length > ROWS_MAX) return showTooLong(chosen, list.rows.length)
  const plan = await planOf(list)
  if (!isCurrent()) return
  preview({ given: chosen, table, list, plan }, again, () => buyNew(chosen, table, list, plan))
  keep(chosen)
}

type Chosen = Given & Pick<StoredList, 'headerRow' | 'columns'>

/** Stores the list, and buys it. */
function buyNew(chosen: Chosen, table: Table, list: List, plan: Plan): Promise<void> {
  return holdList(plan, async () => {
    const now = await planOf(list)
    // Another tab can have bought rows before the lock.
    if (now.left !== plan.left) return read(chosen)
    const key = await signerFor(now)
    const { bytes, ...options } = chosen
    const id = listId(table)
    await storeList({ ...options, id }, bytes, batchesOf(now))
    history.replaceState(null, '', listUrl(id))
    const isCurrent = begin()
    offerNothing()
    const ended = await buyPlan(now, { key, left: now.left, judgedColumns: judgedColumnsOf(list, chosen) })
    const stored = await readStored(id)
    if (stored && isCurrent()) await finish(await createOpened(stored, list), ended, isCurrent)
  })
}

/** The columns of numbers and names, if both are read. */
function judgedColumnsOf(list: List, { columns }: Pick<StoredList, 'columns'>): JudgedColumns | undefined {
  const [number, name] = [columns.company_number, columns.name].map((each) => {
    const [column] = namesOf(each)
    return column === undefined ? undefined : describeColumn(column, list.header)
  })
  return number === undefined || name === undefined ? undefined : { number, name }
}

/** No other tab buys these rows meanwhile. */
function holdList(plan: Plan, work: () => Promise<void>): Promise<void> {
  return holdRows(
    plan.rows.flatMap(({ operation }) => operation ?? []),
    'exclusive',
    work,
  )
}

const NOTHING: Ended = { failure: '', refused: new Map() }

/** Shows a list from what is stored. Only payments without an answer are sent again. */
async function showStored(
  stored: StoredList,
  bytes: Uint8Array<ArrayBuffer>,
  isCurrent: () => boolean,
  exclusively: Exclusively,
): Promise<void> {
  const list = readList(await parseTable(bytes, stored), stored)
  const shown = await createOpened(stored, list)
  if (!isCurrent()) return
  showOpened(shown)
  const plan = await refresh(shown, NOTHING)
  if (openRows(plan).length === 0) return offerRest(shown, plan)
  await exclusively(() => resend(shown, NOTHING, isCurrent))
}

async function createOpened(stored: StoredList, list: List): Promise<OpenedList> {
  const plan = await planOf(list)
  const state = { rows: await readRows(plan, NOTHING.refused), paid: await paidFor(plan) }
  const fail = (cause: unknown) => say(describe(cause), 'fault')
  return { id: stored.id, stored, list, view: createListView(stored, list, state, fail), scroll: 0 }
}

/** Shows what is stored now. */
async function refresh({ id, list, view }: OpenedList, { refused }: Ended): Promise<Plan> {
  const plan = await planOf(list)
  view.update({ rows: await readRows(plan, refused), paid: await paidFor(plan) })
  await updateList(id, { summary: view.summary(), batches: batchesOf(plan) })
  return plan
}

/** Shows the list after a purchase. Payments without an answer are sent again before a new one is offered. */
async function finish(shown: OpenedList, ended: Ended, isCurrent: () => boolean): Promise<void> {
  if (opened !== shown) {
    fold(true)
    showOpened(shown)
  }
  const plan = await refresh(shown, ended)
  if (!isCurrent()) return
  if (openRows(plan).length > 0) return resend(shown, ended, isCurrent)
  if (!ended.isColumn) offerRest(shown, plan)
  else offerContinue(shown, plan, true)
  const change = button('Choose other columns', () => void chooseOthers(shown))
  say(ended.failure, 'fault', ...(ended.isColumn ? [change] : []))
}

/** Shows a stored list as before its purchase. The rows that stay equal are paid. */
async function chooseOthers({ stored }: OpenedList): Promise<void> {
  const bytes = await readFileOf(stored.id)
  if (!bytes) return
  history.pushState(null, '', '/?operation=list')
  fold(false)
  opened = undefined
  const { name, separator, encoding, sheet, hasHiddenRows, headerRow, columns } = stored
  await read({ bytes, name, separator, encoding, sheet, hasHiddenRows, headerRow, columns })
}

/** Sends the stored payments again when the service is back, and asks a person after the last try. */
async function resend(shown: OpenedList, first: Ended, isCurrent: () => boolean): Promise<void> {
  offerNothing()
  let ended = first
  for (const [at, pause] of PAUSES_MS.entries()) {
    const tries = `Try ${at + 1} of ${PAUSES_MS.length}. Nothing new is signed.`
    say(`${ended.failure} The stored payments are sent again by themselves when the service is back. ${tries}`, 'fault')
    // A list that is opened again does not wait.
    if (ended !== NOTHING) await SHARED.runtime.sleep(pause)
    await untilBack(isCurrent)
    if (!isCurrent()) return
    ended = await sendStored(await planOf(shown.list))
    const plan = await refresh(shown, ended)
    if (!isCurrent()) return
    if (openRows(plan).length === 0) {
      say('')
      return offerRest(shown, plan)
    }
  }
  const plan = await planOf(shown.list)
  offerContinue(shown, plan)
  say(ended.failure, 'fault')
}

/** The rows that are not bought wait for a click. */
function offerRest(shown: OpenedList, plan: Plan): void {
  const isLeft = plan.left > 0 && shown.view.rows.some(({ group }) => group === 'unpaid')
  if (isLeft) offerContinue(shown, plan)
  else offerNothing()
}

/**
 * Offers to send the stored payments and to sign those that are announced.
 * @param isConfirming whether the click also confirms the column of the numbers, which is then not checked
 */
function offerContinue(shown: OpenedList, plan: Plan, isConfirming = false): void {
  const judgedColumns = isConfirming ? undefined : judgedColumnsOf(shown.list, shown.stored)
  offer(isConfirming ? 'Continue so' : 'Continue', plan.left, () =>
    holdList(plan, async () => {
      const isCurrent = begin()
      const now = await planOf(shown.list)
      if (now.left !== plan.left) return offerContinue(shown, now, isConfirming)
      const key = await signerFor(now)
      offerNothing()
      await updateList(shown.id, { batches: batchesOf(now) })
      await finish(shown, await buyPlan(now, { key, left: now.left, judgedColumns }), isCurrent)
    }),
  )
}

/** Shows the list, or the record that the URL names, which is paid already. */
function showOpened(shown: OpenedList): void {
  opened = shown
  const { view, scroll } = shown
  if (location.hash === RECEIPT) return void showReceipt(shown)
  const number = location.hash.slice(1)
  const record = number === '' ? undefined : findRecord(view.rows, number)
  if (record) {
    present(
      create('div', {}, [
        paragraph(link('#', '← All rows'), 'quiet'),
        showRecord(record.company, record.provenance, { isChecked: true }),
      ]),
    )
    hideButton()
    void showPaid(record)
    scrollTo(0, 0)
    return announce()
  }
  restoreButton()
  present(view.element)
  scrollTo(0, scroll)
  if (scroll === 0) announce(view.summary())
}

async function showReceipt({ id, stored }: OpenedList): Promise<void> {
  const { showBooks } = await import('../books.ts')
  const batches = new Set((await readStored(id))?.batches)
  const purchases = (await readPurchases()).filter(({ purchase }) => batches.has(purchaseName(purchase.request)))
  showBooks(stored.name, purchases)
  hideButton()
  scrollTo(0, 0)
  announce()
}

async function showPaid({ provenance, purchase }: ListedRecord): Promise<void> {
  const bought = (await readPurchases()).find(({ name }) => name === purchase)
  const place = find('#answer')
  place.append(create('div', {}, showSource(provenance)), ...(bought ? [showPayment(bought)] : []))
}

addEventListener('click', ({ target }) => {
  if (opened && target instanceof Element && target.closest('a[href^="#"]') && opened.view.element.isConnected)
    opened.scroll = scrollY
})
lines.addEventListener('input', () => {
  file.value = ''
  void take()
})
file.addEventListener('change', () => void take())
