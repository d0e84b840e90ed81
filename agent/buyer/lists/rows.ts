/** Buys the answers of rows: one purchase for a row, or one for a batch of rows. Equal rows are one purchase. */
import { LRUCache } from 'lru-cache'
import * as z from 'zod'
import { createBuyer, type Buyer, type BuyerOptions } from '../library/buyer.ts'
import { REPEAT_STATUSES, type BuyerRuntime } from '../library/buy.ts'
import { buyThrough } from '../library/methods.ts'
import { restRequest, type PurchaseRequest } from '../library/purchase-request.ts'
import { describeAnswer, PurchaseError } from '../library/purchase-error.ts'
import { lookup } from '../../operation/lookup.ts'
import { parseOperation, type Operation } from '../../operation/operation.ts'
import type { RefusalCode } from '../../operation/refusal.ts'
import { resolve, type ResolveResponse } from '../../operation/resolve.ts'
import { readTypedNumber } from '../../operation/typed-number.ts'
import { parseJson } from '../../../store/base/read-body.ts'
import type { Company } from '../../../store/dataset/company.ts'
import { BATCH_REFUSALS, rowKey, type Batch } from './batches.ts'

/** The texts of a row. Blank ones count as missing. */
export type RowCells = Partial<Record<'name' | 'company_number' | 'eircode' | 'address', string>>

/** What a row asks for, and what was left out of it. */
export interface ParsedRow {
  kind: 'valid' | 'invalid' | 'empty'
  /** Undefined unless the row is valid. */
  operation?: Operation
  notes: string[]
}

/** `purchase` is the entry of the purchase in the folder of the buyer. */
export type RowResult =
  | { kind: 'bought'; answer: ResolveResponse; purchase: string }
  /** The record of the company that a person has chosen. */
  | { kind: 'chosen'; answer: { company: Company; snapshot_id: string }; purchase: string }
  /** With `purchase`, a batch charged for this row. Without it, the whole request was refused. */
  | { kind: 'refused'; code: RefusalCode; purchase?: string }
  /** The row has neither a name nor a number. */
  | { kind: 'empty' }

/** Rows that one call resolves. */
export const ROWS_AT_ONCE = 10

/** An unpaid request that the service cannot answer at the moment is repeated for five minutes. */
const PAUSE_MS = 5_000
const ATTEMPTS_MAX = 60

/** Evidence that breaks the rules of the operation, such as "n/a" in place of an Eircode, is left out. */
const EVIDENCE: ReadonlySet<string | null> = new Set(['eircode', 'address'])

/** What a row asks for. A number that cannot be read is left out beside a name. */
export function parseRow(cells: RowCells): ParsedRow {
  const input: RowCells = {}
  for (const [field, text = ''] of Object.entries(cells))
    if (text.trim() !== '') input[field as keyof RowCells] = text.trim()
  const notes: string[] = []
  const leaveOut = (field: keyof RowCells) => {
    notes.push(`${field} not read: ${input[field]}`)
    delete input[field]
  }
  const number = input.company_number
  const digits = readTypedNumber(number ?? '')?.digits
  if (digits !== undefined) input.company_number = digits
  else if (number !== undefined && input.name !== undefined) leaveOut('company_number')
  if (input.name === undefined && input.company_number === undefined) return { kind: 'empty', notes }
  for (;;) {
    const parsed = parseOperation(resolve, input)
    if (parsed.kind === 'valid') return { kind: 'valid', operation: parsed.operation, notes }
    const { field, rule } = parsed.fault
    if (!EVIDENCE.has(field)) return { kind: 'invalid', notes: [...notes, `${field ?? 'the row'} ${rule}`] }
    leaveOut(field as keyof RowCells)
  }
}

export interface ListBuyerOptions extends Pick<BuyerOptions, 'mode' | 'key' | 'readAuthorization' | 'allowance'> {
  baseUrl: string
  folder: string
  runtime: BuyerRuntime
}

/**
 * The buyers of a list, by the micro-USDC that they pay for a request. They pay only the receiver of the first purchase
 * in the folder, and keep an answer forever. A refused payment is replaced after it has ended.
 */
export function openBuyers({ baseUrl: url, ...options }: ListBuyerOptions): (amountMax: number) => Buyer {
  const buyers = new Map<number, Buyer>()
  return (amountMax) => {
    const expected = { payTo: 'published', amountMax }
    const buyer = buyers.get(amountMax) ?? createBuyer({ ...options, url, expected, maxAgeSeconds: Infinity })
    buyers.set(amountMax, buyer)
    return buyer
  }
}

interface RowsOptions {
  baseUrl: string
  /** The buyer of one purchase with that many rows. */
  buyerOf: (operation: Operation, rows: number) => Buyer
  runtime: BuyerRuntime
  /** The batch of a row and its place in it, by the key of the row, if the batch has or will have a payment. */
  batches?: ReadonlyMap<string, { batch: Batch; at: number }>
}

/** Batches whose results stay in memory, for the rows of the next calls. */
const BATCHES_KEPT = 8

/**
 * Returns a function that buys the answers of several rows at once, in their order. It rejects with the first error
 * after every row has ended: a `PurchaseError`, or the error of `fetch`. A later call with the same rows continues.
 */
export function createRowResolver(options: RowsOptions) {
  const results = new LRUCache<Batch, Promise<RowResult[]>>({ max: BATCHES_KEPT })
  const resolveRow = async ({ kind, operation }: ParsedRow): Promise<RowResult> => {
    if (kind === 'empty') return { kind }
    if (!operation) return { kind: 'refused', code: resolve.inputFault }
    const item = options.batches?.get(rowKey(options.baseUrl, operation))
    if (!item) return buySingle(options, operation)
    const bought = results.get(item.batch) ?? buyBatch(options, item.batch)
    results.set(item.batch, bought)
    const result = (await bought)[item.at]
    if (!result) throw new Error('An answer to a batch has too few results')
    return result
  }
  return (rows: readonly ParsedRow[]) => allEnded(rows.map(resolveRow))
}

/** Like `Promise.all`, but rejects after all have ended. */
async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work)
  const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  // An error that names a payment says more than one before any payment.
  const failure = failures.find((cause) => cause instanceof PurchaseError && cause.file !== undefined) ?? failures[0]
  if (failure !== undefined) throw failure
  return settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
}

async function buySingle({ baseUrl, buyerOf, runtime }: RowsOptions, operation: Operation): Promise<RowResult> {
  const { definition } = operation
  const refusals = new Set([...definition.refusals, definition.inputFault])
  const request = restRequest(baseUrl, operation)
  const answered = await buyRequest(buyerOf(operation, 1), runtime, request, refusals)
  if (answered.kind === 'refused') return { kind: 'refused', code: answered.code }
  // The buyer has checked that the answer has the form of the operation.
  const { answer, purchase } = answered
  return { kind: definition === lookup ? 'chosen' : 'bought', answer, purchase } as RowResult
}

const batchAnswerSchema = z.object({ results: z.array(z.object({ status: z.int(), body: z.unknown() })) })

/**
 * The results of all rows of a batch. The rows of a batch that is refused as a whole are bought one by one: at once if
 * nothing was signed, else by the next run, which announces them.
 */
async function buyBatch(options: RowsOptions, { request, items }: Batch): Promise<RowResult[]> {
  const [first] = items
  if (!first) return []
  const buyer = options.buyerOf(first, items.length)
  const answered = await buyRequest(buyer, options.runtime, request, BATCH_REFUSALS)
  if (answered.kind === 'refused') {
    const { code, isSigned } = answered
    if (isSigned) return items.map(() => ({ kind: 'refused', code }))
    return allEnded(items.map((item) => buySingle(options, item)))
  }
  const { answer, purchase } = answered
  return batchAnswerSchema.parse(answer).results.map((result): RowResult => {
    if (result.status === 200) return { kind: 'bought', answer: result.body as ResolveResponse, purchase }
    const { code } = describeAnswer({ status: result.status, body: JSON.stringify(result.body) })
    if (code === undefined) throw new Error('A result of a batch has an unknown code')
    return { kind: 'refused', code, purchase }
  })
}

type Answered =
  | { kind: 'bought'; answer: unknown; purchase: string }
  /** `isSigned`: the service has the payment and can settle it until it ends. */
  | { kind: 'refused'; code: RefusalCode; isSigned: boolean }

/** Any other refusal than `refusals` ends the run. */
export async function buyRequest(
  buyer: Buyer,
  runtime: BuyerRuntime,
  request: PurchaseRequest,
  refusals: ReadonlySet<RefusalCode>,
): Promise<Answered> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (attempt > 1) await runtime.sleep(PAUSE_MS)
    const answered = await buyOnce(buyer, request, refusals)
    if (answered !== 'later') return answered
  }
  throw new Error('The service has been overloaded or incomplete for minutes. Try again later')
}

/** `later`: the service could not answer, or the receipt could not be checked. */
async function buyOnce(
  buyer: Buyer,
  request: PurchaseRequest,
  refusals: ReadonlySet<RefusalCode>,
): Promise<Answered | 'later'> {
  try {
    const { body, receipt, purchase } = await buyThrough(buyer.fetch, request)
    if (receipt === 'valid') return { kind: 'bought', answer: parseJson(body), purchase }
    if (receipt === 'unchecked') return 'later'
  } catch (cause) {
    const { code, answer, file } = cause instanceof PurchaseError ? cause : {}
    if (answer?.code !== undefined && refusals.has(answer.code))
      return { kind: 'refused', code: answer.code, isSigned: file !== undefined }
    if (code === 'service_refused' && REPEAT_STATUSES.has(answer?.status ?? 0)) return 'later'
    throw cause
  }
  throw new Error('An answer of the service has no receipt. Check its URL')
}
