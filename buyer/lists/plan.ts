/**
 * What each row of a list buys, what is paid already and what the rest costs. The plan reads the purchases, so no row
 * is paid twice if list, options or versions change. Runs in browsers too.
 */
import { counted } from '../../base/grammar.ts'
import { restRequest } from '../library/purchase-request.ts'
import { purchaseName } from '../library/open-buyer.ts'
import { committedAmount } from '../library/purchase-state.ts'
import type { BuyerStorage } from '../library/storage.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { itemsOf, parseOperation, type Operation } from '../../agent/operation/operation.ts'
import { batch as BATCH } from '../../agent/operation/operations.ts'
import { resolve } from '../../agent/operation/resolve.ts'
import { amountOf, type Mode } from '../../agent/payment/terms.ts'
import { groupsOf } from '../../base/groups-of.ts'
import type { List, ListedRow } from './list.ts'
import {
  batchRows,
  readKnownResult,
  readPurchasedRows,
  rowKey,
  type Batch,
  type PurchasedRows,
} from './purchased-rows.ts'
import { askByName, choose, isNumbered, isUnknownNumber, type RowCells, type RowResult } from './rows.ts'
import { sha256Hex } from '../../base/canonical.ts'

/** The same for equal rows, in any order of the list. The prefix keeps a spreadsheet from reading it as a number. */
export const reviewKey = (cells: RowCells): string =>
  `row-${sha256Hex(JSON.stringify(Object.values(cells))).slice(0, 16)}`

export interface PlannedRow {
  listed: ListedRow
  operation: Operation | undefined
  /** Whether a person has chosen the number that the operation looks up. */
  isChosen: boolean
  /** Known without a purchase: the candidate that a person has chosen, or an earlier refusal of the request. */
  known: RowResult | undefined
  /** The number of the row, which no company has, so that the operation asks by its name. */
  unknownNumber?: string
}

export interface Plan {
  rows: PlannedRow[]
  purchased: PurchasedRows
  /** Different rows, by what is done for each. */
  paid: number
  open: number
  toPay: number
  /** Micro-USDC of the payments that may be signed, and their number. */
  left: number
  payments: number
  /** Rows that may be asked again by their names within `left`. */
  againMax: number
}

/** What is done for the rows of a list, whose number is the sum of these counts. */
export function describePlan({ rows, paid, open, toPay, againMax }: Plan): string {
  const decided = rows.filter(({ known }) => known !== undefined).length
  const asking = rows.filter(({ operation, known }) => operation && !known).length
  const counts = [
    [toPay, 'to buy'],
    [paid, 'paid before'],
    [open, 'open'],
    [decided, 'decided before'],
    [asking - toPay - paid - open, 'equal to another'],
    [rows.length - asking - decided, 'left out'],
  ] as const
  const shown = counts.flatMap(([count, what]) => (count > 0 ? `${count} ${what}` : []))
  const again = ` Rows whose number no company has are asked by their names too, at most ${againMax}, in the same sum.`
  return `${counted(rows.length, 'row')}: ${shown.join(', ') || 'none to buy'}.${againMax > 0 ? again : ''}`
}

export interface PlanOptions {
  storage: BuyerStorage
  baseUrl: string
  mode: Mode
  now: Date
  isBatched: boolean
  /** Micro-USDC for one row. By default the usual price. */
  amountMax?: number | undefined
  /** Micro-USDC for the list, earlier runs included. */
  totalMax?: number | undefined
  /** The numbers that a person has chosen, by the review keys of their rows. */
  choices?: ReadonlyMap<string, string> | undefined
}

export async function planList(list: List, options: PlanOptions): Promise<Plan> {
  const { baseUrl, isBatched } = options
  const keyOf = (operation: Operation) => rowKey(baseUrl, operation)
  const purchased = await readPurchasedRows(options.storage, options)
  const rows: PlannedRow[] = []
  for (const listed of list.rows) rows.push(await planRow(listed, purchased, options))
  // Those that are asked by their names come last.
  const ordered = [...rows.filter(isFirstAsked), ...rows.filter((row) => !isFirstAsked(row))]
  const operations = new Map(
    ordered.flatMap(({ operation, known }) => (operation && !known ? [[keyOf(operation), operation]] : [])),
  )
  if (isBatched) addBatches(operations, purchased, baseUrl)
  return { rows, purchased, ...estimate(operations, purchased, options) }
}

const isFirstAsked = ({ unknownNumber }: PlannedRow) => unknownNumber === undefined

/** Plans what the row asks for, or the record of the number that a person has chosen for it. */
async function planRow(listed: ListedRow, purchased: PurchasedRows, options: PlanOptions): Promise<PlannedRow> {
  const { storage, baseUrl, choices } = options
  const asked = await planAsked(listed, purchased, options)
  const number = listed.kind === 'empty' ? undefined : choices?.get(reviewKey(listed.cells))
  const parsed = number === undefined ? undefined : parseOperation(lookup, { company_number: number })
  if (number === undefined || parsed?.kind !== 'valid') return asked
  const purchaseOf = (operation: Operation) => purchased.rows.get(rowKey(baseUrl, operation))
  const chosen = parsed.operation
  const own = purchaseOf(chosen)
  const planned = { listed: asked.listed, operation: chosen, isChosen: true }
  // The run would buy a refused number again as soon as its payment has ended, which no plan announces.
  if (own?.state.kind === 'decided') return { ...planned, known: await readKnownResult(storage, chosen, own) }
  const isBought = own !== undefined && own.state.kind !== 'unpaid'
  const saved = asked.operation && purchaseOf(asked.operation)
  const result =
    asked.operation && saved && !isBought ? await readKnownResult(storage, asked.operation, saved) : undefined
  return { ...planned, known: result && choose(result, number) }
}

/** Plans what the row itself asks for: its name alone if the service has refused its number. */
async function planAsked(
  listed: ListedRow,
  { rows }: PurchasedRows,
  { storage, baseUrl }: PlanOptions,
): Promise<PlannedRow> {
  const row: PlannedRow = { listed, operation: listed.operation, isChosen: false, known: undefined }
  const readRefusal = async () => {
    const saved = row.operation && rows.get(rowKey(baseUrl, row.operation))
    if (row.operation && saved?.state.kind === 'decided')
      row.known = await readKnownResult(storage, row.operation, saved)
  }
  await readRefusal()
  if (row.known && isUnknownNumber(row.known) && planByName(row)) await readRefusal()
  return row
}

/** Lets the row ask by its name, because no company has its number. Returns false if it has no name. */
export function planByName(row: PlannedRow): boolean {
  const operation = row.operation && askByName(row.operation)
  if (!row.operation || !operation) return false
  const { company_number: unknownNumber = '' } = row.operation.input as RowCells
  const listed = { ...row.listed, notes: [...row.listed.notes, `no company has the number ${unknownNumber}`] }
  Object.assign(row, { listed, operation, unknownNumber, known: undefined })
  return true
}

/** Puts the rows that have no purchase into batches, in their order. */
export function addBatches(
  operations: ReadonlyMap<string, Operation>,
  { rows, refused }: PurchasedRows,
  baseUrl: string,
): void {
  const unpaid = [...operations].flatMap(([key, operation]) => (rows.has(key) ? [] : [operation]))
  const added = [lookup, resolve].flatMap((definition) => {
    const inputs = unpaid.flatMap((each) => (each.definition.name === definition.name ? [each.input] : []))
    return groupsOf(inputs, definition.batchInputsMax ?? 1).flatMap((part) => {
      const parsed = parseOperation(BATCH, { operation: definition.name, inputs: part })
      if (parsed.kind === 'invalid') throw new Error(`A batch cannot be made: ${parsed.fault.rule}`)
      const request = restRequest(baseUrl, parsed.operation)
      const batch: Batch = { request, items: itemsOf(parsed.operation) }
      const isRefused = refused.has(purchaseName(request))
      return isRefused ? [] : batchRows(baseUrl, batch, { state: { kind: 'unpaid' }, entry: undefined })
    })
  })
  for (const [key, row] of added) rows.set(key, row)
}

/** The highest amount of a payment for these rows, in micro-USDC. */
export const limitOfRows = (
  { mode, amountMax }: Pick<PlanOptions, 'mode' | 'amountMax'>,
  rows: readonly Operation[],
): number => rows.reduce((sum, operation) => sum + (amountMax ?? amountOf({ mode }, operation)), 0)

/** Rows with a name and a number that can be asked again: all of a short list, or a tenth. */
const AGAIN_MIN = 10
const AGAIN_SHARE = 0.1

function estimate(operations: ReadonlyMap<string, Operation>, { rows, all }: PurchasedRows, options: PlanOptions) {
  const counts = { paid: 0, open: 0, toPay: 0, left: 0, payments: 0 }
  const seen = new Set<Batch>()
  let numbered = 0
  for (const [key, operation] of operations) {
    const { state, item } = rows.get(key) ?? { state: { kind: 'unpaid' } }
    if (state.kind === 'paid') counts.paid += 1
    else if (state.kind === 'open') counts.open += 1
    else counts.toPay += 1
    if (state.kind !== 'unpaid') continue
    if (isNumbered(operation)) numbered += 1
    if (item && seen.has(item.batch)) continue
    if (item) seen.add(item.batch)
    counts.payments += 1
    counts.left += limitOfRows(options, item?.batch.items ?? [operation])
  }
  const price = options.amountMax ?? amountOf(options, { definition: resolve, input: {} })
  const room = (options.totalMax ?? Infinity) - committedAmount(all) - counts.left
  const wanted = Math.min(numbered, Math.max(AGAIN_MIN, Math.ceil(numbered * AGAIN_SHARE)))
  const againMax = Math.max(0, Math.min(wanted, Math.floor(room / price)))
  const payments = options.isBatched ? Math.ceil(againMax / (resolve.batchInputsMax ?? 1)) : againMax
  return { ...counts, left: counts.left + againMax * price, payments: counts.payments + payments, againMax }
}
