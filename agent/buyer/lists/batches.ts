/**
 * The batches of a list. A batch is planned from the rows that have no payment yet; once its purchase is in the folder,
 * every later run finds its rows there, so a changed list or another option pays for no row twice.
 */
import { folderStorage } from '../library/folder-storage.ts'
import { purchaseName } from '../library/buyer.ts'
import { readPurchase } from '../library/purchase-file.ts'
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

/** What earlier runs have bought into a folder. */
interface Paid {
  /** The keys of the rows that have a payment. */
  rows: Set<string>
  /** The batch of a row and its place in it, by the key of the row. */
  batches: Map<string, { batch: Batch; at: number }>
  /** The names of refused batches, which are never sent again. */
  refused: Set<string>
}

/** @param listed the keys of the list, whose own purchases need not be read */
export async function readPaid(folder: string, baseUrl: string, listed: ReadonlySet<string>): Promise<Paid> {
  const storage = folderStorage(folder)
  const paid: Paid = { rows: new Set(), batches: new Map(), refused: new Set() }
  for (const entry of await storage.list('')) {
    const name = /^([0-9a-f]{64})-\d+\.json$/.exec(entry)?.[1]
    if (name === undefined) continue
    if (listed.has(name)) {
      paid.rows.add(name)
      continue
    }
    const { request, answer } = await readPurchase({ storage, name: entry })
    const operation = requestedOperation(request, OPERATIONS)
    const code = answer && describeAnswer(answer).code
    if (operation?.definition !== BATCH) paid.rows.add(name)
    else if (code && BATCH_REFUSALS.has(code)) paid.refused.add(name)
    else addBatch(paid, baseUrl, { request, items: itemsOf(operation) })
  }
  return paid
}

function addBatch({ rows, batches }: Pick<Paid, 'rows' | 'batches'>, baseUrl: string, batch: Batch): void {
  for (const [at, item] of batch.items.entries()) {
    const key = rowKey(baseUrl, item)
    rows.add(key)
    batches.set(key, { batch, at })
  }
}

/** The batches in the folder, and those of the rows that have no payment, in the order of the list. */
export function planBatches(paid: Paid, baseUrl: string, list: ReadonlyMap<string, Operation>): Paid['batches'] {
  const plan = { rows: new Set<string>(), batches: new Map(paid.batches) }
  const unpaid = [...list].flatMap(([key, operation]) => (paid.rows.has(key) ? [] : [operation]))
  for (let start = 0; start < unpaid.length; start += BATCH_ROWS_MAX) {
    const inputs = unpaid.slice(start, start + BATCH_ROWS_MAX).map(({ input }) => input)
    const parsed = parseOperation(BATCH, { operation: resolve.name, inputs })
    if (parsed.kind === 'invalid') throw new Error(`A batch cannot be made: ${parsed.fault.rule}`)
    const request = restRequest(baseUrl, parsed.operation)
    if (!paid.refused.has(purchaseName(request))) addBatch(plan, baseUrl, { request, items: itemsOf(parsed.operation) })
  }
  return plan.batches
}
