/**
 * Resolves the rows of a list: one purchase of `resolve` for each row, or one for a batch of rows. Equal rows are one
 * purchase.
 */
import { LRUCache } from 'lru-cache'
import * as z from 'zod'
import type { Buyer } from '../library/buyer.ts'
import { REPEAT_STATUSES, type BuyerRuntime } from '../library/buy.ts'
import { restRequest, type PurchaseRequest } from '../library/purchase-request.ts'
import { describeAnswer, PurchaseError } from '../library/purchase-error.ts'
import { parseOperation, type Operation, type ParsedOperation } from '../../operation/operation.ts'
import type { RefusalCode } from '../../operation/refusal.ts'
import { resolve, type ResolveResponse } from '../../operation/resolve.ts'
import { readTypedNumber } from '../../operation/typed-number.ts'
import { PAYMENT_HEADERS } from '../../payment/terms.ts'
import { readSettlementResponse } from '../../payment/receipt/read.ts'
import { parseJson } from '../../../store/base/read-body.ts'
import { BATCH_REFUSALS, rowKey, type Batch } from './batches.ts'

/** The texts of a row. Blank ones count as missing. */
export type RowCells = Partial<Record<'name' | 'company_number' | 'eircode' | 'address', string>>

interface RowPayment {
  /** The entry of the purchase in the folder of the buyer. */
  purchase: string
  /** Micro-USDC for the whole purchase. */
  amount: number
}

export type RowResult =
  | { kind: 'bought'; answer: ResolveResponse; payment: RowPayment }
  /** Charged as a row of a batch. Without `payment`, a payment that was signed may still be charged. */
  | { kind: 'refused'; code: RefusalCode; payment?: RowPayment }
  /** The row has neither a name nor a number. */
  | { kind: 'empty' }

/** Rows that one call resolves. */
export const ROWS_AT_ONCE = 10

/** What the service answers for a row that it cannot resolve. Any other refusal ends the run. */
const ROW_REFUSALS: ReadonlySet<RefusalCode> = new Set([...resolve.refusals, resolve.inputFault])

/** An unpaid request that the service cannot answer at the moment is repeated for five minutes. */
const PAUSE_MS = 5_000
const ATTEMPTS_MAX = 60

/** Evidence that breaks the rules of the operation, such as "n/a" in place of an Eircode, is left out. */
const EVIDENCE: ReadonlySet<string | null> = new Set(['eircode', 'address'])

interface RowsOptions {
  baseUrl: string
  /** The buyer of purchases of that many rows. */
  buyerOf: (rows: number) => Promise<Buyer>
  runtime: BuyerRuntime
  /** The batch of a row and its place in it, by the key of the row, if the batch has or will have a payment. */
  batches?: ReadonlyMap<string, { batch: Batch; at: number }>
}

/** Batches whose results stay in memory, for the rows of the next calls. */
const BATCHES_KEPT = 8

/**
 * Returns a function that resolves several rows at once, in their order. It rejects with the first error after every
 * row has ended: a `PurchaseError`, or the error of `fetch`. A later call with the same rows continues.
 */
export function createRowResolver(options: RowsOptions) {
  const results = new LRUCache<Batch, Promise<RowResult[]>>({ max: BATCHES_KEPT })
  const batchResults = (batch: Batch) => {
    const bought = results.get(batch) ?? resolveBatch(options, batch)
    results.set(batch, bought)
    return bought
  }
  return (rows: readonly RowCells[]) => allEnded(rows.map((cells) => resolveRow(options, batchResults, cells)))
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

/** The operation that a row asks for. Undefined if the row has neither a name nor a number. */
export function parseRow(cells: RowCells): ParsedOperation | undefined {
  const input = Object.fromEntries(
    Object.entries(cells)
      .map(([field, text]) => [field, text.trim()])
      .filter(([, text]) => text !== ''),
  )
  const { name, company_number: number } = input
  if (name === undefined && number === undefined) return undefined
  if (number !== undefined) input['company_number'] = readTypedNumber(number)?.digits ?? number
  // "n/a" beside a name.
  if (name !== undefined && !/[0-9]/.test(number ?? '')) delete input['company_number']
  for (;;) {
    const parsed = parseOperation(resolve, input)
    if (parsed.kind === 'valid' || !EVIDENCE.has(parsed.fault.field)) return parsed
    delete input[parsed.fault.field ?? '']
  }
}

async function resolveRow(
  options: RowsOptions,
  batchResults: (batch: Batch) => Promise<RowResult[]>,
  cells: RowCells,
): Promise<RowResult> {
  const parsed = parseRow(cells)
  if (!parsed) return { kind: 'empty' }
  if (parsed.kind === 'invalid') return { kind: 'refused', code: resolve.inputFault }
  const { operation } = parsed
  const item = options.batches?.get(rowKey(options.baseUrl, operation))
  if (!item) return resolveSingle(options, operation)
  const result = (await batchResults(item.batch))[item.at]
  if (!result) throw new Error('An answer to a batch has too few results')
  return result
}

async function resolveSingle(options: RowsOptions, operation: Operation): Promise<RowResult> {
  const request = restRequest(options.baseUrl, operation)
  const answered = await buyRequest(options, request, { rows: 1, refusals: ROW_REFUSALS })
  if (answered.kind === 'refused') return { kind: 'refused', code: answered.code }
  // The buyer has checked that the answer has the form of the operation.
  return { kind: 'bought', answer: parseJson(answered.body) as ResolveResponse, payment: answered.payment }
}

const batchAnswerSchema = z.object({ results: z.array(z.object({ status: z.int(), body: z.unknown() })) })

/**
 * The results of all rows of a batch. The rows of a batch that is refused as a whole are bought one by one: at once if
 * nothing was signed, else by the next run, which announces them.
 */
async function resolveBatch(options: RowsOptions, { request, items }: Batch): Promise<RowResult[]> {
  const answered = await buyRequest(options, request, { rows: items.length, refusals: BATCH_REFUSALS })
  if (answered.kind === 'refused') {
    const { code, isSigned } = answered
    if (isSigned) return items.map(() => ({ kind: 'refused', code }))
    return allEnded(items.map((item) => resolveSingle(options, item)))
  }
  const { body, payment } = answered
  return batchAnswerSchema.parse(parseJson(body)).results.map((result): RowResult => {
    if (result.status === 200) return { kind: 'bought', answer: result.body as ResolveResponse, payment }
    const { code } = describeAnswer({ status: result.status, body: JSON.stringify(result.body) })
    if (code === undefined) throw new Error('A result of a batch has an unknown code')
    return { kind: 'refused', code, payment }
  })
}

type Answered =
  | { kind: 'bought'; body: string; payment: RowPayment }
  /** `isSigned`: the service has the payment and can settle it until it ends. */
  | { kind: 'refused'; code: RefusalCode; isSigned: boolean }

/** Any other refusal than `refusals` ends the run. */
export async function buyRequest(
  { buyerOf, runtime }: Pick<RowsOptions, 'buyerOf' | 'runtime'>,
  { url, ...init }: PurchaseRequest,
  { rows, refusals }: { rows: number; refusals: ReadonlySet<RefusalCode> },
): Promise<Answered> {
  const buyer = await buyerOf(rows)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (attempt > 1) await runtime.sleep(PAUSE_MS)
    const answered = await buyOnce(() => buyer.fetch(url, init), refusals)
    if (answered !== 'later') return answered
  }
  throw new Error('The service has been overloaded or incomplete for minutes. Try again later')
}

/** `later`: the service could not answer, or the receipt could not be checked. */
async function buyOnce(
  fetch: () => Promise<Response>,
  refusals: ReadonlySet<RefusalCode>,
): Promise<Answered | 'later'> {
  const response = await fetch().catch((cause: unknown) => {
    const code = cause instanceof PurchaseError ? cause.answer?.code : undefined
    if (code !== undefined && refusals.has(code)) return { kind: 'refused', code, isSigned: true } as const
    throw cause
  })
  if ('kind' in response) return response
  const { status, headers } = response
  const body = await response.text()
  if (status === 200) {
    const check = headers.get('Receipt-Check')
    if (check === 'unchecked') return 'later'
    const settlement = readSettlementResponse(headers.get(PAYMENT_HEADERS.response) ?? '')
    if (check !== 'valid' || !settlement) throw new Error('An answer of the service has no receipt. Check its URL')
    const payment = { purchase: headers.get('Purchase') ?? '', amount: Number(settlement.amount) }
    return { kind: 'bought', body, payment }
  }
  const { code } = describeAnswer({ status, body })
  const file = headers.get('Purchase') ?? undefined
  if (code !== undefined && refusals.has(code)) return { kind: 'refused', code, isSigned: file !== undefined }
  if (REPEAT_STATUSES.has(status)) return 'later'
  const text = `The service refused a row with ${[status, code].filter(Boolean).join(' ')}`
  throw new PurchaseError('service_refused', text, file === undefined ? {} : { file })
}
