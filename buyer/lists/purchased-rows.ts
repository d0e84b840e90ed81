/** What a storage has bought for the rows of a list, by the keys of the rows. Runs in browsers too. */
import * as z from 'zod'
import { purchaseName } from '../library/open-buyer.ts'
import { describeAnswer } from '../library/purchase-error.ts'
import { readPurchase } from '../library/purchase-file.ts'
import { restRequest, type PurchaseRequest } from '../library/purchase-request.ts'
import { decidingCode, mayBeReplaced, readListed, type ListedPurchase } from '../library/purchase-state.ts'
import type { BuyerStorage } from '../library/storage.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { fromItem } from '../../agent/operation/batch.ts'
import { itemsOf, type Operation, type SingleDefinition } from '../../agent/operation/operation.ts'
import { batch as BATCH } from '../../agent/operation/operations.ts'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { parseJson } from '../../base/read-body.ts'
import type { RowResult } from './rows.ts'

export interface Batch {
  request: PurchaseRequest
  items: readonly Operation<SingleDefinition>[]
}

/** What the service answers if it refuses a batch as a whole. It charges nothing then. */
export const BATCH_REFUSALS: ReadonlySet<RefusalCode> = new Set([...BATCH.refusals, BATCH.inputFault])

/** The code of a batch in which no item has a record. It is also the result of each row. */
const NO_RECORD: RefusalCode = 'company_not_found'

/** Equal rows have equal keys. The key names the purchase of the row alone. */
export function rowKey(baseUrl: string, operation: Operation): string {
  return purchaseName(restRequest(baseUrl, operation))
}

/**
 * What a run does for a row. `paid`: reads the answer. `decided`: shows the refusal of the request. `open`: sends the
 * payment again. `unpaid`: signs a payment, after it has sent one that has ended once more.
 */
type RowState = { kind: 'paid' | 'open' | 'unpaid' } | { kind: 'decided'; code: RefusalCode }

/** The purchase of a row: its own, or a batch of which it is an item. */
export interface RowPurchase {
  state: RowState
  /** The entry in the storage. Undefined before the purchase. */
  entry: string | undefined
  /** The batch, and the place of the row in it. */
  item?: { batch: Batch; at: number }
}

export interface PurchasedRows {
  rows: Map<string, RowPurchase>
  /** The names of refused batches, which are never sent again. */
  refused: Set<string>
  /** All purchases of the folder, without their answers, which would need much memory. */
  all: Pick<ListedPurchase, 'outcome' | 'amount'>[]
  open: ListedPurchase[]
}

export async function readPurchasedRows(
  storage: BuyerStorage,
  { baseUrl, now }: { baseUrl: string; now: Date },
): Promise<PurchasedRows> {
  const bought: PurchasedRows = { rows: new Map(), refused: new Set(), all: [], open: [] }
  const entries = (await storage.list('')).flatMap((entry) => {
    const [, name = '', index = ''] = /^([0-9a-f]{64})-(\d+)\.json$/.exec(entry) ?? []
    return name === '' ? [] : { entry, name, index: Number(index) }
  })
  const batches: [string, RowPurchase][] = []
  // The newest purchase of a request, which is read last, decides.
  for (const { entry, name } of entries.toSorted((one, other) => one.index - other.index)) {
    const found = await readListed({ storage, name: entry }, now)
    const { purchase, operation, outcome, amount } = found
    const state = rowStateOf(found, now)
    bought.all.push({ outcome, amount })
    if (state.kind === 'open') bought.open.push(found)
    const code = purchase.answer && describeAnswer(purchase.answer).code
    if (operation?.definition !== BATCH) bought.rows.set(name, { state, entry })
    else if (code && code !== NO_RECORD && BATCH_REFUSALS.has(code)) bought.refused.add(name)
    else {
      const batch: Batch = { request: purchase.request, items: itemsOf(operation) }
      const refusals = state.kind === 'paid' ? batchRefusals(purchase.answer?.body) : []
      // A row of a refused batch was not charged, so it has no receipt.
      const paidEntry = code === NO_RECORD ? undefined : entry
      for (const [at, [key, row]] of batchRows(baseUrl, batch, { state, entry: paidEntry }).entries()) {
        const refusal = refusals[at]
        batches.push([key, refusal === undefined ? row : { ...row, state: { kind: 'decided', code: refusal } }])
      }
    }
  }
  for (const [key, row] of batches) bought.rows.set(key, row)
  return bought
}

function rowStateOf(listed: ListedPurchase, now: Date): RowState {
  if (listed.outcome.kind === 'sold') return { kind: 'paid' }
  const code = decidingCode(listed.purchase)
  if (code !== undefined) return { kind: 'decided', code }
  return { kind: mayBeReplaced(listed, now) ? 'unpaid' : 'open' }
}

export function batchRows(baseUrl: string, batch: Batch, purchase: RowPurchase): [string, RowPurchase][] {
  return batch.items.map((operation, at) => [rowKey(baseUrl, operation), { ...purchase, item: { batch, at } }])
}

/** The result of a row whose purchase is paid or decided, without asking the service. */
export async function readKnownResult(
  storage: BuyerStorage,
  operation: Operation,
  { state, entry, item }: RowPurchase,
): Promise<RowResult | undefined> {
  if (state.kind === 'decided')
    return { kind: 'refused', code: state.code, ...(item && entry !== undefined && { purchase: entry }) }
  if (state.kind !== 'paid' || entry === undefined) return undefined
  const body = await readAnswer(storage, entry)
  return item ? batchResults(item.batch, body, entry)[item.at] : toResult(operation, body, entry)
}

/** The answer of a purchase, which was checked when it was stored. */
export async function readAnswer(storage: BuyerStorage, entry: string): Promise<unknown> {
  const { answer } = await readPurchase({ storage, name: entry })
  return parseJson(answer?.body ?? '')
}

/** The caller has checked that the answer has the form of the operation. */
export const toResult = ({ definition }: Operation, answer: unknown, purchase: string): RowResult =>
  ({ kind: definition.name === lookup.name ? 'found' : 'bought', answer, purchase }) as RowResult

const batchAnswerSchema = z.looseObject({
  results: z.array(z.object({ http_status: z.int(), body: z.looseObject({}) })),
})

/** The codes of the items that a batch has refused, by their place. */
const batchRefusals = (body = ''): (RefusalCode | undefined)[] =>
  batchAnswerSchema
    .parse(parseJson(body))
    .results.map(({ http_status: status, body: item }) =>
      status === 200 ? undefined : describeAnswer({ status, body: JSON.stringify(item) }).code,
    )

export function batchResults({ items }: Batch, answer: unknown, purchase: string): RowResult[] {
  const batch = batchAnswerSchema.parse(answer)
  return items.map((operation, at) => {
    const { http_status: status, body } = batch.results[at] ?? { http_status: 0, body: {} }
    if (status === 200) return toResult(operation, fromItem(operation, body, batch), purchase)
    const { code } = describeAnswer({ status, body: JSON.stringify(body) })
    if (code === undefined) throw new Error('A result of a batch is missing or has an unknown code')
    return { kind: 'refused', code, purchase }
  })
}
