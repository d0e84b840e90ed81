/** Buys the answers of rows: one purchase for a row, or one for a batch of rows. Equal rows are one purchase. */
import { openBuyer, type BuyerOptions } from '../library/open-buyer.ts'
import type { Buy, BuyerRuntime } from '../library/buy.ts'
import { buyAnswer } from '../library/methods.ts'
import { restRequest, type PurchaseRequest } from '../library/purchase-request.ts'
import { knownFrom } from '../library/outcome.ts'
import { whenAborted } from '../library/progress.ts'
import { PurchaseError } from '../library/purchase-error.ts'
import { REPEAT_STATUSES } from '../library/purchase-state.ts'
import type { BuyerStorage } from '../library/storage.ts'
import { itemsOf, type Operation } from '../../agent/operation/operation.ts'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { resolve } from '../../agent/operation/resolve.ts'
import { groupsOf } from '../../base/groups-of.ts'
import { parseJson } from '../../base/read-body.ts'
import { addBatches, limitOfRows, planByName, type Plan, type PlannedRow } from './plan.ts'
import {
  BATCH_REFUSALS,
  batchResults,
  readAnswer,
  rowKey,
  toResult,
  type Batch,
  type PurchasedRows,
} from './purchased-rows.ts'
import type { ListedRow } from './list.ts'
import { checkNumbers, type JudgedColumns } from './check-numbers.ts'
import { askByName, isUnknownNumber, withoutNumber, type RowResult } from './rows.ts'

/** Rows that one call buys. */
export const ROWS_AT_ONCE = 10
/** Limits the memory. A service sells few batches a second. */
const BATCHES_AT_ONCE = 4

/** An unpaid request that the service cannot answer yet, or a missing receipt, is tried again for five minutes. */
const PAUSE_MS = 5_000
const ATTEMPTS_MAX = 60
/** Attempts to check a receipt while the key set of the service cannot be read. */
const UNREACHED_MAX = 2

interface RowsOptions {
  baseUrl: string
  buy: Buy
  runtime: BuyerRuntime
  /** Ends the calls that wait. */
  signal?: AbortSignal
  /** Whose items have or will have a payment. */
  purchased?: Pick<PurchasedRows, 'rows'>
  /** Has the purchases. Without it, each call for a row checks the receipt of its purchase again. */
  storage?: BuyerStorage
}

export interface BoughtRow extends Pick<PlannedRow, 'listed' | 'isChosen' | 'unknownNumber'> {
  result: RowResult
}

interface ListRunOptions extends Omit<RowsOptions, 'purchased' | 'storage'> {
  storage: BuyerStorage
  /** If the first payments must show that the numbers are those of the companies. */
  judgedColumns: JudgedColumns | undefined
  /** Called for each row that is bought before the first group is yielded. */
  onBought?: ((row: PlannedRow) => void) | undefined
}

/**
 * Buys what a plan announces, and yields the rows in their order, in groups. It throws the first error after every row
 * of its group has ended. The next run with the same storage continues, and pays nothing twice.
 * @throws NumberColumnError after the first payments
 */
export async function* runList(
  plan: Plan,
  { judgedColumns: columns, onBought, ...options }: ListRunOptions,
): AsyncGenerator<BoughtRow[], void> {
  const { rows, purchased } = plan
  const buyRow = createRowBuyer({ ...options, purchased })
  if (columns) await checkNumbers(plan, buyRow, { columns, baseUrl: options.baseUrl })
  const hasBatches = [...purchased.rows.values()].some(({ item }) => item !== undefined)
  const size = hasBatches ? BATCHES_AT_ONCE * (resolve.batchInputsMax ?? 1) : ROWS_AT_ONCE
  if (plan.againMax > 0 || rows.some(({ unknownNumber, known }) => unknownNumber !== undefined && !known))
    await buyAgain(plan, buyRow, { size, hasBatches, baseUrl: options.baseUrl, onBought })
  for (const group of groupsOf(rows, size))
    yield await allEnded(group.map(async (row) => Object.assign({ result: await buyRow(row) }, row)))
}

/**
 * Buys every row, and then asks those by their names whose number no company has. The rows say so afterwards. Results
 * are read again when the rows are yielded, because those of a long list need much memory.
 */
async function buyAgain(
  { rows, purchased, againMax }: Plan,
  buyRow: BuyRow,
  {
    size,
    hasBatches,
    baseUrl,
    onBought,
  }: { size: number; hasBatches: boolean } & Pick<ListRunOptions, 'baseUrl' | 'onBought'>,
): Promise<void> {
  const keyOf = (operation: Operation) => rowKey(baseUrl, operation)
  const again = new Map<string, Operation>()
  const buyAll = async (some: readonly PlannedRow[]) => {
    for (const group of groupsOf(some, size)) {
      const results = await allEnded(group.map(buyRow))
      for (const [at, row] of group.entries()) {
        onBought?.(row)
        const result = results[at]
        // A refusal is not asked for again.
        if (result?.kind === 'refused') row.known = result
      }
    }
  }
  const isToBuy = ({ operation, known }: PlannedRow) =>
    operation && !known && purchased.rows.get(keyOf(operation))?.state.kind !== 'paid'
  await buyAll(rows.filter((row) => row.unknownNumber === undefined && isToBuy(row)))
  const byName = rows.filter((row) => {
    if (row.unknownNumber !== undefined) return isToBuy(row)
    const isUnknown = row.known !== undefined && isUnknownNumber(row.known) && !row.isChosen
    const operation = isUnknown && row.operation ? askByName(row.operation) : undefined
    if (!operation || (again.size >= againMax && !again.has(keyOf(operation)))) return false
    again.set(keyOf(operation), operation)
    return planByName(row)
  })
  // The rows of an earlier run have their batches already.
  if (hasBatches) addBatches(again, purchased, baseUrl)
  await buyAll(byName)
}

/**
 * The buyer of a list. It pays only the receiver of the first purchase in the folder, and keeps an answer forever. A
 * refused payment is replaced after it has ended.
 */
export function openListBuyer({ baseUrl: url, amountMax, amountPerDayMax, ...options }: ListBuyerOptions): Buy {
  const limitOf = (operation: Operation) => limitOfRows({ mode: options.mode, amountMax }, itemsOf(operation))
  const expected = { payTo: 'published', amountPerDayMax }
  return openBuyer({ ...options, url, expected, limitOf, maxAgeSeconds: Infinity })
}

export interface ListBuyerOptions
  extends
    Required<Pick<BuyerOptions, 'key' | 'mode' | 'folder' | 'runtime'>>,
    Pick<BuyerOptions, 'readAuthorization' | 'allowance' | 'onStep'> {
  baseUrl: string
  /** Micro-USDC for one row. By default the usual price. */
  amountMax?: number | undefined
  /** Micro-USDC for a UTC day. */
  amountPerDayMax?: number | undefined
}

/** Batches whose results stay in memory, for the rows of the next calls. */
const BATCHES_KEPT = 8

export type BuyRow = (row: RowToBuy) => Promise<RowResult>

/** Returns a function that buys the answer of a row. A later call with the same row continues. */
export function createRowBuyer(options: RowsOptions): BuyRow {
  const { baseUrl, purchased, storage } = options
  const results = new Map<Batch, Promise<RowResult[]>>()
  /** The entries of purchases whose receipts were checked here, by their batch or by the key of their row. */
  const checked = new Map<Batch | string, string>()
  const noteChecked = (bought: Batch | string, entry: string) => storage && checked.set(bought, entry)
  const readChecked = async (bought: Batch | string) => {
    const entry = checked.get(bought)
    return storage && entry !== undefined ? { entry, answer: await readAnswer(storage, entry) } : undefined
  }
  const buyItems = async (batch: Batch): Promise<RowResult[]> => {
    const read = await readChecked(batch)
    if (read) return batchResults(batch, read.answer, read.entry)
    return buyBatch(options, batch, (entry) => noteChecked(batch, entry))
  }
  const resultsOf = (batch: Batch): Promise<RowResult[]> => {
    const bought = results.get(batch) ?? buyItems(batch)
    results.delete(batch)
    results.set(batch, bought)
    const [oldest] = results.keys()
    if (oldest && results.size > BATCHES_KEPT) results.delete(oldest)
    return bought
  }
  const buyAlone = async (key: string, operation: Operation): Promise<RowResult> => {
    const read = await readChecked(key)
    if (read) return toResult(operation, read.answer, read.entry)
    const result = await buySingle(options, operation)
    if (result.kind === 'bought' || result.kind === 'found') noteChecked(key, result.purchase)
    return result
  }
  return async ({ listed, operation, known, isChosen = false, unknownNumber }) => {
    if (known) return known
    if (listed.kind === 'empty') return { kind: 'empty' }
    if (!operation) return { kind: 'refused', code: resolve.inputFault }
    const key = rowKey(baseUrl, operation)
    const item = purchased?.rows.get(key)?.item
    const result = item ? (await resultsOf(item.batch))[item.at] : await buyAlone(key, operation)
    if (!result) throw new Error('An answer to a batch has too few results')
    if (unknownNumber !== undefined) return withoutNumber(result)
    return result.kind === 'found' && isChosen ? { ...result, kind: 'chosen' } : result
  }
}

interface RowToBuy extends Partial<Omit<PlannedRow, 'listed'>> {
  listed: Pick<ListedRow, 'kind'>
}

/** Like `Promise.all`, but rejects after all have ended, with the error of the purchase that is known last. */
async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work)
  const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  const doubtOf = (cause: unknown) => (cause instanceof PurchaseError ? 1 + knownFrom(cause.outcome) : 0)
  const [failure] = failures.toSorted((one, other) => doubtOf(other) - doubtOf(one))
  if (failure !== undefined) throw failure
  return settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
}

async function buySingle({ baseUrl, buy, ...options }: RowsOptions, operation: Operation): Promise<RowResult> {
  const { definition } = operation
  const refusals = new Set([...definition.refusals, definition.inputFault])
  const request = restRequest(baseUrl, operation)
  const answered = await buyRequest(buy, request, { ...options, refusals })
  if (answered.kind === 'refused') return { kind: 'refused', code: answered.code }
  return toResult(operation, answered.answer, answered.purchase)
}

/**
 * The results of all rows of a batch. The rows of a batch that is refused as a whole are bought one by one: at once if
 * nothing was signed, else by the next run, which announces them.
 */
async function buyBatch(options: RowsOptions, batch: Batch, onChecked: (entry: string) => void): Promise<RowResult[]> {
  const { request, items } = batch
  const answered = await buyRequest(options.buy, request, { ...options, refusals: BATCH_REFUSALS })
  if (answered.kind === 'bought') {
    onChecked(answered.purchase)
    return batchResults(batch, answered.answer, answered.purchase)
  }
  const { code, isSigned } = answered
  if (isSigned) return items.map(() => ({ kind: 'refused', code }))
  return allEnded(items.map((item) => buySingle(options, item)))
}

type Answered =
  | { kind: 'bought'; answer: unknown; purchase: string }
  /** `isSigned`: the service has the payment and can settle it until it ends. */
  | { kind: 'refused'; code: RefusalCode; isSigned: boolean }

interface RequestOptions {
  /** Any other refusal ends the run. */
  refusals: ReadonlySet<RefusalCode>
  /** Requests with other keys are other purchases. */
  key?: string | null
  runtime: BuyerRuntime
  signal?: AbortSignal | undefined
}

/** Ends early if the caller aborts. */
async function pause({ sleep }: BuyerRuntime, signal: AbortSignal | undefined): Promise<void> {
  const { aborted, stop } = whenAborted([signal])
  await Promise.race([sleep(PAUSE_MS), aborted])
  stop()
}

export async function buyRequest(
  buyer: Buy,
  request: PurchaseRequest,
  { refusals, key = null, runtime, signal }: RequestOptions,
): Promise<Answered> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (attempt > 1) await pause(runtime, signal)
    try {
      const { body, receipt, entry } = await buyAnswer(buyer, request, { key, signal })
      if (receipt === 'valid') return { kind: 'bought', answer: parseJson(body), purchase: entry.name }
      if (receipt === 'unchecked' && attempt >= UNREACHED_MAX)
        throw new PurchaseError('service_unreachable', 'The keys of the service cannot be read to check the receipts')
    } catch (cause) {
      const { code, answer, file } = cause instanceof PurchaseError ? cause : {}
      if (answer?.code !== undefined && refusals.has(answer.code))
        return { kind: 'refused', code: answer.code, isSigned: file !== undefined }
      if (code !== 'service_refused' || !REPEAT_STATUSES.has(answer?.status ?? 0)) throw cause
    }
  }
  throw new Error('The service has been overloaded or incomplete for minutes. Try again later')
}
