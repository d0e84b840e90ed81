/**
 * What a list has bought, what it may still cost, and its batches. A batch is planned from the rows that have no
 * purchase yet. A later run reads the batches from the purchases, so no row is paid twice if list or options change.
 */
import { folderStorage } from '../library/folder-storage.ts'
import { purchaseName } from '../library/buyer.ts'
import { readPurchase, type Purchase } from '../library/purchase-file.ts'
import { committedAmount, maySign, stateOf, type PurchaseState } from '../library/purchase-state.ts'
import { requestedOperation, restRequest, type PurchaseRequest } from '../library/purchase-request.ts'
import { describeAnswer } from '../library/purchase-error.ts'
import { itemsOf, parseOperation, type Operation } from '../../operation/operation.ts'
import { batch as BATCH, OPERATIONS } from '../../operation/operations.ts'
import type { RefusalCode } from '../../operation/refusal.ts'
import { resolve } from '../../operation/resolve.ts'

export interface Batch {
  request: PurchaseRequest
  items: readonly Operation[]
}

export const BATCH_ROWS_MAX = resolve.batchInputsMax ?? 1

/** What the service answers if it refuses a batch as a whole. It charges nothing then. */
export const BATCH_REFUSALS: ReadonlySet<RefusalCode> = new Set([...BATCH.refusals, BATCH.inputFault])

/** Equal rows have equal keys. The key names the purchase of the row alone. */
export function rowKey(baseUrl: string, operation: Operation): string {
  return purchaseName(restRequest(baseUrl, operation))
}

/** A batch of which a row is an item, and the state of its purchase. */
interface BatchedRow {
  batch: Batch
  at: number
  state: PurchaseState
}

/** What a folder has bought, by the states of its purchases. */
export interface BoughtRows {
  /** The state of each row with a purchase of its own, by the key of the row. */
  rows: Map<string, PurchaseState>
  /** By the key of the row. */
  batches: Map<string, BatchedRow>
  /** The names of refused batches, which are never sent again. */
  refused: Set<string>
  /** Micro-USDC that all purchases have cost or may still cost. */
  committed: number
  open: Purchase[]
}

/** The operations of a list, by the keys of their rows. */
type Listed = ReadonlyMap<string, Operation>

/** @param listed the rows of the list. A purchase under the key of a row is not a batch */
export async function readBought(
  folder: string,
  { baseUrl, now, listed }: { baseUrl: string; now: Date; listed: Listed },
): Promise<BoughtRows> {
  const storage = folderStorage(folder)
  const bought: BoughtRows = { rows: new Map(), batches: new Map(), refused: new Set(), committed: 0, open: [] }
  const entries = (await storage.list('')).flatMap((entry) => {
    const [, name = '', index = ''] = /^([0-9a-f]{64})-(\d+)\.json$/.exec(entry) ?? []
    return name === '' ? [] : { entry, name, index: Number(index) }
  })
  // The newest purchase of a request, which is read last, decides.
  for (const { entry, name } of entries.toSorted((one, other) => one.index - other.index)) {
    const purchase = await readPurchase({ storage, name: entry })
    const state = stateOf(purchase, now)
    bought.committed += committedAmount(purchase, now)
    if (state === 'open') bought.open.push(purchase)
    const operation = listed.has(name) ? undefined : requestedOperation(purchase.request, OPERATIONS)
    const code = purchase.answer && describeAnswer(purchase.answer).code
    if (operation?.definition !== BATCH) bought.rows.set(name, state)
    else if (code && BATCH_REFUSALS.has(code)) bought.refused.add(name)
    else addBatch(bought.batches, baseUrl, { request: purchase.request, items: itemsOf(operation) }, state)
  }
  return bought
}

function addBatch(batches: BoughtRows['batches'], baseUrl: string, batch: Batch, state: PurchaseState): void {
  for (const [at, item] of batch.items.entries()) batches.set(rowKey(baseUrl, item), { batch, at, state })
}

/** The batches in the folder, and those of the names that have no purchase, in the order of the list. */
export function planBatches(bought: BoughtRows, baseUrl: string, listed: Listed): BoughtRows['batches'] {
  const plan = new Map(bought.batches)
  const isUnpaid = (key: string) => !bought.rows.has(key) && !plan.has(key)
  const unpaid = [...listed].flatMap(([key, each]) => (each.definition === resolve && isUnpaid(key) ? [each] : []))
  for (let start = 0; start < unpaid.length; start += BATCH_ROWS_MAX) {
    const inputs = unpaid.slice(start, start + BATCH_ROWS_MAX).map(({ input }) => input)
    const parsed = parseOperation(BATCH, { operation: resolve.name, inputs })
    if (parsed.kind === 'invalid') throw new Error(`A batch cannot be made: ${parsed.fault.rule}`)
    const request = restRequest(baseUrl, parsed.operation)
    const batch = { request, items: itemsOf(parsed.operation) }
    if (!bought.refused.has(purchaseName(request))) addBatch(plan, baseUrl, batch, 'none')
  }
  return plan
}

/** The rows of the list by the action for each, and the micro-USDC of the payments that may be signed. */
export function estimate(
  bought: BoughtRows,
  batches: BoughtRows['batches'],
  listed: Listed,
  priceOf: (operation: Operation) => number,
) {
  const rows = { paid: 0, open: 0, toPay: 0 }
  const counted = new Set<Batch>()
  let left = 0
  for (const [key, operation] of listed) {
    const item = batches.get(key)
    const state = item?.state ?? bought.rows.get(key) ?? 'none'
    if (state === 'paid') rows.paid += 1
    else if (state === 'open') rows.open += 1
    else rows.toPay += 1
    if (!maySign(state) || (item && counted.has(item.batch))) continue
    if (item) counted.add(item.batch)
    left += (item?.batch.items.length ?? 1) * priceOf(operation)
  }
  return { ...rows, left }
}
