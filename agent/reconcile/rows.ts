/** Resolves the rows of a list: one purchase of `resolve` for each row. Equal rows are one purchase. */
import { PurchaseError, type Buyer } from '../client/buyer.ts'
import { REPEAT_STATUSES, type BuyerRuntime } from '../client/buy.ts'
import { restRequest } from '../client/purchase-request.ts'
import { describeAnswer } from '../client/service-answer.ts'
import { parseOperation, type ParsedOperation } from '../operation/operations.ts'
import type { RefusalCode } from '../operation/refusal.ts'
import { resolve, type ResolveResponse } from '../operation/resolve.ts'
import { PAYMENT_HEADERS } from '../payment/terms.ts'
import { readSettlementResponse } from '../receipt/read.ts'
import { parseJson } from '../rpc/read-body.ts'

/** What the service answers for a row. */
export type Decision = ResolveResponse

/** The texts of a row. Blank ones count as missing. */
export type RowCells = Partial<Record<'name' | 'company_number' | 'eircode' | 'address', string>>

export type RowResult =
  | {
      kind: 'bought'
      answer: Decision
      /** The entry of the purchase in the folder of the buyer. */
      purchase: string
      /** Micro-USDC. */
      amount: number
    }
  /** Not charged. */
  | { kind: 'refused'; code: RefusalCode }
  /** The row has neither a name nor a number. */
  | { kind: 'empty' }

/** Resolves several rows at once. The results have the order of the rows. */
export type ResolveRows = (rows: readonly RowCells[]) => Promise<RowResult[]>

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
  buyer: Buyer
  runtime: Pick<BuyerRuntime, 'sleep'>
}

/**
 * The results reject with the first error, after every row has ended: a `PurchaseError`, or the error of `fetch`. A later
 * call with the same rows continues.
 */
export function createRowResolver(options: RowsOptions): ResolveRows {
  return async (rows) => {
    const settled = await Promise.allSettled(rows.map((cells) => resolveRow(options, cells)))
    const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
    // An error that names a payment says more than one before any payment.
    const failure = failures.find((cause) => cause instanceof PurchaseError && cause.file !== undefined) ?? failures[0]
    if (failure !== undefined) throw failure
    return settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  }
}

/** The operation that a row asks for. Undefined if the row has neither a name nor a number. */
export function parseRow(cells: RowCells): ParsedOperation | undefined {
  const input = Object.fromEntries(
    Object.entries(cells)
      .map(([field, text]) => [field, text.trim()])
      .filter(([, text]) => text !== ''),
  )
  if (input['name'] === undefined && input['company_number'] === undefined) return undefined
  for (;;) {
    const parsed = parseOperation(resolve.name, input)
    if (parsed.kind === 'valid' || !EVIDENCE.has(parsed.fault.field)) return parsed
    delete input[parsed.fault.field ?? '']
  }
}

async function resolveRow(options: RowsOptions, cells: RowCells): Promise<RowResult> {
  const parsed = parseRow(cells)
  if (!parsed) return { kind: 'empty' }
  if (parsed.kind === 'invalid') return { kind: 'refused', code: resolve.inputFault }
  const { url, ...init } = restRequest(options.baseUrl, parsed.operation)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (attempt > 1) await options.runtime.sleep(PAUSE_MS)
    const result = await buyRow(options.buyer, url, init)
    if (result !== 'later') return result
  }
  throw new Error('The service has been overloaded or incomplete for minutes. Try again later')
}

/** `later`: the service could not answer, or the receipt could not be checked. */
async function buyRow(buyer: Buyer, url: string, init: RequestInit): Promise<RowResult | 'later'> {
  const response = await buyer.fetch(url, init).catch((cause: unknown) => {
    const code = cause instanceof PurchaseError ? cause.answer?.code : undefined
    if (code !== undefined && ROW_REFUSALS.has(code)) return code
    throw cause
  })
  if (typeof response === 'string') return { kind: 'refused', code: response }
  const { status, headers } = response
  const body = await response.text()
  if (status === 200) return toBought(headers, body)
  const { code } = describeAnswer({ status, body, paymentRequired: null, paymentResponse: null })
  if (code !== undefined && ROW_REFUSALS.has(code)) return { kind: 'refused', code }
  if (REPEAT_STATUSES.has(status)) return 'later'
  throw new Error(`The service refused a row with ${[status, code].filter(Boolean).join(' ')}. Nothing was charged`)
}

function toBought(headers: Headers, body: string): RowResult | 'later' {
  const check = headers.get('Receipt-Check')
  if (check === 'unchecked') return 'later'
  const settlement = readSettlementResponse(headers.get(PAYMENT_HEADERS.response) ?? '')
  if (check !== 'valid' || !settlement) throw new Error('An answer of the service has no receipt. Check its URL')
  const purchase = headers.get('Purchase') ?? ''
  // The buyer has checked that the answer has the form of the operation.
  const answer = parseJson(body) as Decision
  return { kind: 'bought', answer, purchase, amount: Number(settlement.amount) }
}
