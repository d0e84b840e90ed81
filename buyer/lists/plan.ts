/**
 * What each row of a list buys, what is paid already and what the rest costs. The plan reads the purchases, so no row
 * is paid twice if list, options or versions change. Runs in browsers too.
 */
import { restRequest } from '../library/purchase-request.ts'
import { purchaseName } from '../library/open-buyer.ts'
import type { BuyerStorage } from '../library/storage.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { itemsOf, parseOperation, type Operation } from '../../agent/operation/operation.ts'
import { batch as BATCH } from '../../agent/operation/operations.ts'
import { resolve } from '../../agent/operation/resolve.ts'
import { amountOf, type Mode } from '../../agent/payment/terms.ts'
import type { List, ListedRow } from './list.ts'
import {
  batchRows,
  readKnownResult,
  readPurchasedRows,
  rowKey,
  type Batch,
  type PurchasedRows,
} from './purchased-rows.ts'
import { choose, type RowCells, type RowResult } from './rows.ts'
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
}

/** What a plan buys, in one sentence. */
export const describePlan = ({ rows, paid, open, toPay }: Plan): string =>
  `${rows.length} rows, ${paid + open + toPay} different ones to buy: ${paid} paid, ${open} open, ${toPay} to pay.`

export interface PlanOptions {
  storage: BuyerStorage
  baseUrl: string
  mode: Mode
  now: Date
  isBatched: boolean
  /** Micro-USDC for one row. By default the usual price. */
  amountMax?: number | undefined
  /** The numbers that a person has chosen, by the review keys of their rows. */
  choices?: ReadonlyMap<string, string> | undefined
}

export async function planList(list: List, options: PlanOptions): Promise<Plan> {
  const { baseUrl, isBatched } = options
  const keyOf = (operation: Operation) => rowKey(baseUrl, operation)
  const purchased = await readPurchasedRows(options.storage, options)
  const rows: PlannedRow[] = []
  for (const listed of list.rows) rows.push(await planRow(listed, purchased, options))
  const operations = new Map(
    rows.flatMap(({ operation, known }) => (operation && !known ? [[keyOf(operation), operation]] : [])),
  )
  if (isBatched) for (const [key, row] of newBatches(operations, purchased, baseUrl)) purchased.rows.set(key, row)
  return { rows, purchased, ...estimate(operations, purchased, options) }
}

/** Plans what the row asks for, or the record of the number that a person has chosen for it. */
async function planRow(
  listed: ListedRow,
  { rows }: PurchasedRows,
  { storage, baseUrl, choices }: PlanOptions,
): Promise<PlannedRow> {
  const { operation } = listed
  const number = listed.kind === 'empty' ? undefined : choices?.get(reviewKey(listed.cells))
  const parsed = number === undefined ? undefined : parseOperation(lookup, { company_number: number })
  const saved = operation && rows.get(rowKey(baseUrl, operation))
  if (number === undefined || parsed?.kind !== 'valid') {
    const known =
      operation && saved?.state.kind === 'decided' ? await readKnownResult(storage, operation, saved) : undefined
    return { listed, operation, isChosen: false, known }
  }
  const chosen = parsed.operation
  const isBought = (rows.get(rowKey(baseUrl, chosen))?.state.kind ?? 'unpaid') !== 'unpaid'
  const result = operation && saved && !isBought ? await readKnownResult(storage, operation, saved) : undefined
  return { listed, operation: chosen, isChosen: true, known: result && choose(result, number) }
}

/** The batches of the rows that have no purchase, in the order of the list. */
function newBatches(operations: ReadonlyMap<string, Operation>, { rows, refused }: PurchasedRows, baseUrl: string) {
  const unpaid = [...operations].flatMap(([key, operation]) => (rows.has(key) ? [] : [operation]))
  return [lookup, resolve].flatMap((definition) => {
    const inputs = unpaid.flatMap((each) => (each.definition.name === definition.name ? [each.input] : []))
    const size = definition.batchInputsMax ?? 1
    return Array.from({ length: Math.ceil(inputs.length / size) }, (_, index) => {
      const part = inputs.slice(index * size, (index + 1) * size)
      const parsed = parseOperation(BATCH, { operation: definition.name, inputs: part })
      if (parsed.kind === 'invalid') throw new Error(`A batch cannot be made: ${parsed.fault.rule}`)
      const request = restRequest(baseUrl, parsed.operation)
      const batch: Batch = { request, items: itemsOf(parsed.operation) }
      const isRefused = refused.has(purchaseName(request))
      return isRefused ? [] : batchRows(baseUrl, batch, { state: { kind: 'unpaid' }, entry: undefined })
    }).flat()
  })
}

/** The highest amount of a payment for these rows, in micro-USDC. */
export const limitOfRows = (
  { mode, amountMax }: Pick<PlanOptions, 'mode' | 'amountMax'>,
  rows: readonly Operation[],
): number => rows.reduce((sum, operation) => sum + (amountMax ?? amountOf({ mode }, operation)), 0)

function estimate(operations: ReadonlyMap<string, Operation>, { rows }: PurchasedRows, options: PlanOptions) {
  const counts = { paid: 0, open: 0, toPay: 0, left: 0, payments: 0 }
  const counted = new Set<Batch>()
  for (const [key, operation] of operations) {
    const { state, item } = rows.get(key) ?? { state: { kind: 'unpaid' } }
    if (state.kind === 'paid' || state.kind === 'decided') counts.paid += 1
    else if (state.kind === 'open') counts.open += 1
    else counts.toPay += 1
    if (state.kind !== 'unpaid' || (item && counted.has(item.batch))) continue
    if (item) counted.add(item.batch)
    counts.payments += 1
    counts.left += limitOfRows(options, item?.batch.items ?? [operation])
  }
  return counts
}
