/** The entry of the library: a `fetch` that pays, and a method for each operation. */
import { decodeUtf8, parseJson } from '../../base/read-body.ts'
import { PAYMENT_HEADERS } from '../../agent/payment/terms.ts'
import { RUNTIME, type Buy } from './buy.ts'
import { createMethods, type BuyerMethods } from './methods.ts'
import { openBuyer, refuseUnknownOptions, type BuyerOptions } from './open-buyer.ts'
import { chargedBy } from './outcome.ts'
import { PurchaseError } from './purchase-error.ts'
import type { PurchaseRequest } from './purchase-request.ts'

export { verifyReceipt, type ReceiptCheck, type VerifiedReceipt } from '../../agent/payment/receipt/verify.ts'
export type { BuyerOptions } from './open-buyer.ts'
export type { AuthorizationState, ReadAuthorization, SignedAuthorization } from './authorization-state.ts'
export { filingStatus, type FilingStatus } from '../../agent/operation/filing-status.ts'
export type { AnswerWithReceipt, MethodOptions, PageOptions, PagesCall, PurchaseCall } from './method-call.ts'
export type {
  BatchResponse,
  BuyerMethods,
  Candidate,
  ChangesResponse,
  Company,
  CompanyResponse,
  HistoryResponse,
  ResolveResponse,
  SearchResponse,
} from './methods.ts'
export { listPurchases, type PurchaseSummary } from './purchase-list.ts'
export { describeOutcome, type Charged, type Outcome } from './outcome.ts'
export { ConfigurationError, PurchaseError, type PurchaseErrorCode, type ServiceAnswer } from './purchase-error.ts'
export type { Key, LocalAccount, Signer } from './signer.ts'
export type { OnStep, PurchaseStep } from './step.ts'
export type { BuyerStorage } from './storage.ts'

export interface Buyer extends BuyerMethods {
  /**
   * Like `fetch`, for GET and POST with a text body. Two calls with equal method, URL, body and `Idempotency-Key` are
   * the same request and are paid once. The answer has the headers `Receipt-Check`: `valid`, `missing` or `unchecked`,
   * `Charged`: `yes`, `no` or `unknown`, and, if a payment was sent, `Purchase`: the name of the entry with the
   * payment, the answer and the receipt. A refusal whose payment can still be settled has `Certain-From`: the time from
   * which it is certainly not charged.
   * @throws PurchaseError
   * @example
   * const response = await buyer.fetch('https://companies.example/api/v1/company/249885')
   * const company = response.ok && (await response.json())
   */
  fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
}

/** Names the purchase. It is not sent to the service. */
const KEY_HEADER = 'Idempotency-Key'

/**
 * Opens a folder of purchases. All buyers of one folder, in any process, share its purchases and limits.
 * @throws a {@link ConfigurationError} that names the option that is missing or wrong
 * @example
 * const buyer = createBuyer({ url: 'https://companies.example', key: '0x…' }) // a testnet or a sandbox
 * @example
 * const buyer = createBuyer({
 *   url: 'https://companies.example',
 *   mode: 'mainnet',
 *   key: '0x…', // a private key
 *   folder: 'purchases',
 *   expected: { payTo: '0x…', amountMax: 20_000 }, // a receiver from a source that you trust; micro-USDC
 * })
 */
export function createBuyer(options: BuyerOptions): Buyer {
  refuseUnknownOptions(options)
  const buy = openBuyer(options)
  const fetch: Buyer['fetch'] = async (input, init) => {
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    const { request, key } = await readRequest(new Request(input, init))
    return toResponse(await buy(request, { key, signal }))
  }
  return { fetch, ...createMethods(options.url, buy, () => (options.runtime ?? RUNTIME).now()) }
}

/** The request as it is saved, and the key that the caller has given it. */
async function readRequest(request: Request): Promise<{ request: PurchaseRequest; key: string | null }> {
  const { method } = request
  if ((method !== 'GET' && method !== 'POST') || request.headers.has(PAYMENT_HEADERS.request)) {
    throw new PurchaseError('request_unsupported', 'Only GET and POST without a payment header are supported')
  }
  const body = request.body === null ? null : decodeUtf8(await request.arrayBuffer())
  if (body === undefined) throw new PurchaseError('request_unsupported', 'The body of the request is not UTF-8')
  const { [KEY_HEADER.toLowerCase()]: key = null, ...headers } = Object.fromEntries(request.headers)
  const url = new URL(request.url)
  url.hash = ''
  return { request: { method, url: url.href, headers, body }, key }
}

function toResponse(answer: Awaited<ReturnType<Buy>>): Response {
  const { status, body, paymentRequired, paymentResponse, receipt, entry, outcome } = answer
  const headers = new Headers({ 'Receipt-Check': receipt, Charged: chargedBy(outcome) })
  if (entry) headers.set('Purchase', entry.name)
  if (outcome.kind === 'not_sold_later') headers.set('Certain-From', outcome.certainFrom.toISOString())
  // The answers of the service are JSON. Another text, such as the page of a proxy, is never HTML for the caller.
  headers.set('Content-Type', parseJson(body) === undefined ? 'text/plain; charset=utf-8' : 'application/json')
  if (paymentRequired !== null) headers.set(PAYMENT_HEADERS.required, paymentRequired)
  if (paymentResponse !== null) headers.set(PAYMENT_HEADERS.response, paymentResponse)
  // The constructor refuses a body, also an empty one, for statuses such as 204.
  return new Response(body === '' ? null : body, { status, headers })
}
