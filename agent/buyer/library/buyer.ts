/**
 * A `fetch` that pays. Each request has one purchase in a storage, so a repetition by any process, also after a crash,
 * sends the saved payment again or returns the saved answer, and signs nothing. Of the files that this one imports,
 * only folder-storage.ts needs Node.js.
 */
import { canonicalJson, sha256Hex } from '../../../store/base/canonical.ts'
import { OPERATIONS } from '../../operation/operations.ts'
import { namesAnotherOperation, parseResourceUrl } from '../../operation/resource.ts'
import { isPrivateKey } from '../../payment/accounts.ts'
import { parseJson } from '../../../store/base/read-body.ts'
import { REPEAT_STATUSES, RUNTIME, type BuyerRuntime } from './buy.ts'
import { buyIntoFile, checkReceipt, requireTerms, type BoughtAnswer } from './buy-into-file.ts'
import { describeAnswer, PurchaseError } from './purchase-error.ts'
import { openStorage } from './folder-storage.ts'
import { findPurchase, readPayment, type Purchase } from './purchase-file.ts'
import { answersOperation, requestedOperation, type PurchaseRequest } from './purchase-request.ts'
import { isWithinLimit, type DecodedQuote, type ExpectedTerms } from './quote.ts'
import { readAnswer } from '../../payment/receipt/read.ts'
import { openSpending, type ReservedAuthorization } from './spending.ts'
import { locationOf, type BuyerStorage, type StoredEntry } from './storage.ts'
import { purchasedReceipt } from './verify-purchase.ts'

export { filingStatus, type FilingStatus } from './filing-status.ts'
export { PurchaseError, type PurchaseErrorCode, type ServiceAnswer } from './purchase-error.ts'
export { resetSpending, type ReservedAuthorization } from './spending.ts'
export { type BuyerStorage } from './storage.ts'

export interface BuyerOptions {
  /** The private key that signs payments: 0x and 64 hex digits. */
  key: `0x${string}`
  /**
   * The purchases and the spending of each day, in a folder or another storage. Keep it secret: its entries fetch the
   * bought answers.
   */
  folder: string | BuyerStorage
  /** What a quote must have; otherwise nothing is signed. */
  expected: Omit<ExpectedTerms, 'resource'> & {
    /** The highest price of one request, in micro-USDC. */
    amountMax: number
    /**
     * The highest sum of a day in UTC, in micro-USDC, of all processes that use the folder. By default there is none.
     */
    amountPerDayMax?: number | undefined
  }
  /**
   * Whether the chain shows, in a final block after its end, that an authorization was not used. Its amount then no
   * longer counts for the day. By default every signed payment counts.
   */
  isUnusable?: ((authorization: ReservedAuthorization) => Promise<boolean>) | undefined
  /** After this time a finished request is bought again. By default its saved answer is returned forever. */
  maxAgeSeconds?: number
  /** `ignore`: does not verify the receipt, and does not fetch the key set. */
  receipts?: 'verify' | 'ignore'
  runtime?: BuyerRuntime
}

export interface Buyer {
  /**
   * Like `fetch`, for GET and POST with a text body. Two calls with equal method, URL, body and `Idempotency-Key` are
   * the same request and are paid once. The answer has the header `Receipt-Check`: `valid`, `missing` or `unchecked`,
   * and, if a payment was sent, `Purchase`: the name of the entry with the payment, the answer and the receipt.
   * @throws PurchaseError, or the error of `fetch` if no payment was signed
   * @example
   * const response = await buyer.fetch('https://companies.example/api/v1/company/249885')
   * const company = response.ok && (await response.json())
   */
  fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
}

/** Names the purchase. It is not sent to the service. */
const KEY_HEADER = 'Idempotency-Key'
const PAYMENT_HEADER = 'PAYMENT-SIGNATURE'

type NamedAnswer = BoughtAnswer & { entry: string }

type Settings = ReturnType<typeof toSettings>

/**
 * Opens a folder of purchases. All buyers of one folder, in any process, share its purchases and limits.
 * @throws if the key is not a private key
 * @example
 * const buyer = createBuyer({
 *   key: '0x…', // a private key
 *   folder: 'purchases',
 *   expected: {
 *     network: 'eip155:84532',
 *     asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
 *     domain: { name: 'USDC', version: '2' },
 *     payTo: '0x…', // the receiver, from a source that you trust
 *     amountMax: 5000, // micro-USDC
 *   },
 * })
 */
export function createBuyer(options: BuyerOptions): Buyer {
  if (!isPrivateKey(options.key)) throw new Error('The key must be 0x and 64 hex digits')
  const settings = toSettings(options)
  const { storage, runtime } = settings
  const running = new Map<string, Promise<NamedAnswer>>()
  let removal: Promise<void> | undefined
  return {
    async fetch(input, init) {
      const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
      signal?.throwIfAborted()
      const { name, request } = await readRequest(new Request(input, init))
      await (removal ??= Promise.resolve(storage.removeLeftovers?.(runtime.now())))
      const purchase = running.get(name) ?? buy(settings, name, request).finally(() => running.delete(name))
      running.set(name, purchase)
      return toResponse(await untilAborted(purchase, signal))
    },
  }
}

function toSettings({ receipts = 'verify', runtime = RUNTIME, ...options }: BuyerOptions) {
  const { folder, isUnusable, expected } = options
  const storage = openStorage(folder)
  const amountMax = expected.amountPerDayMax
  const reserve =
    amountMax === undefined ? undefined : openSpending({ storage, amountMax, now: () => runtime.now(), isUnusable })
  return { ...options, storage, receipts, reserve, runtime }
}

/** The request as it is saved, and the name of its purchase. */
async function readRequest(request: Request): Promise<{ name: string; request: PurchaseRequest }> {
  const { method } = request
  if ((method !== 'GET' && method !== 'POST') || request.headers.has(PAYMENT_HEADER)) {
    throw new PurchaseError('request_unsupported', 'Only GET and POST without a payment header are supported')
  }
  const body = request.body === null ? null : decodeText(await request.arrayBuffer())
  const { [KEY_HEADER.toLowerCase()]: key = null, ...headers } = Object.fromEntries(request.headers)
  const url = new URL(request.url)
  url.hash = ''
  const saved = { method, url: url.href, headers, body } as const
  return { name: purchaseName(saved, key), request: saved }
}

/** Begins the names of all entries of the purchases of a request. */
export function purchaseName({ method, url, body }: PurchaseRequest, key: string | null = null): string {
  return sha256Hex(canonicalJson({ method, url: new URL(url).href, body, key }))
}

function decodeText(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new PurchaseError('request_unsupported', 'The body of the request is not UTF-8', { cause })
  }
}

async function buy(settings: Settings, name: string, request: PurchaseRequest): Promise<NamedAnswer> {
  const { storage } = settings
  for (let index = await lastIndex(storage, name); ; index += 1) {
    const entry = entryOf(storage, name, index)
    const saved = await findPurchase(entry)
    if (saved?.answer?.status === 200 && isOld(settings, saved)) continue
    const bought =
      (saved && (await readBought(settings, entry, saved))) ?? (await complete(settings, { entry, request }))
    // The payment was refused again after its expiry, so it can no longer be settled.
    const mayRenew = saved !== undefined && settings.maxAgeSeconds !== undefined
    if (mayRenew && isRefusal(bought) && readPayment(saved).validBefore <= settings.runtime.now()) continue
    requireAnswer(request, bought, locationOf(entry))
    return { ...requireKnown(bought, locationOf(entry)), entry: entry.name }
  }
}

const entryOf = (storage: BuyerStorage, name: string, index: number): StoredEntry => ({
  storage,
  name: `${name}-${index}.json`,
})

/** The index of the newest purchase of a request. A renewed request keeps its earlier purchases. */
async function lastIndex(storage: BuyerStorage, name: string): Promise<number> {
  let index = 0
  while (await findPurchase(entryOf(storage, name, index + 1))) index += 1
  return index
}

function isOld({ maxAgeSeconds, runtime }: Settings, { signed_at }: Purchase): boolean {
  return maxAgeSeconds !== undefined && Date.parse(signed_at) + maxAgeSeconds * 1000 <= runtime.now().getTime()
}

/** The saved answer, without asking the service. Undefined if it has no receipt yet. */
async function readBought(settings: Settings, entry: StoredEntry, saved: Purchase): Promise<BoughtAnswer | undefined> {
  if (!saved.answer || purchasedReceipt(saved) === undefined) return undefined
  const { status, body, payment_response: paymentResponse } = saved.answer
  const receipt = await checkReceipt({ ...settings, entry }, saved)
  return { status, body, paymentResponse, paymentRequired: null, receipt, isPaymentSent: true }
}

function complete(
  { key, expected, reserve, receipts, runtime }: Settings,
  { entry, request }: { entry: StoredEntry; request: PurchaseRequest },
): Promise<BoughtAnswer> {
  const { amountMax, amountPerDayMax: _limit, ...terms } = expected
  const approve = (quote: DecodedQuote) => {
    requireTerms(quote, { ...terms, resource: expectedResource(request, quote) })
    if (isWithinLimit(quote, amountMax)) return
    throw new PurchaseError('price_above_limit', `The price is above ${amountMax} micro-USDC. Nothing was signed`)
  }
  return buyIntoFile({ request, entry, privateKey: key, approve, reserve, receipts, runtime })
}

/** The URL that a quote must name: the requested one, or another one of this service for the same operation. */
function expectedResource(request: PurchaseRequest, { required }: DecodedQuote): string {
  const operation = requestedOperation(request, OPERATIONS)
  if (!operation || !URL.canParse(required.resource.url)) return request.url
  const quoted = new URL(required.resource.url)
  if (!parseResourceUrl(quoted, OPERATIONS) || namesAnotherOperation(quoted.href, operation, OPERATIONS))
    return request.url
  return `${new URL(request.url).origin}${quoted.pathname}${quoted.search}`
}

/** Statuses that state that this payment was not charged. */
function isRefusal({ status }: BoughtAnswer): boolean {
  return status === 402 || status === 404
}

/** @throws if the outcome of a sent payment is unknown, or the payment was refused */
function requireKnown(bought: BoughtAnswer, file: string): BoughtAnswer {
  const { status, isPaymentSent } = bought
  if (!isPaymentSent) return bought
  const answer = describeAnswer(bought)
  const message = `The service answered ${[status, answer.code, answer.reason].filter(Boolean).join(' ')} to the payment`
  if (REPEAT_STATUSES.has(status)) throw new PurchaseError('outcome_unknown', message, { file, answer })
  if (status === 402 || status === 409) throw new PurchaseError('payment_refused', message, { file, answer })
  return bought
}

/** @throws if a paid answer is not about the requested operation */
function requireAnswer(request: PurchaseRequest, { status, body, isPaymentSent }: BoughtAnswer, file: string): void {
  const operation = requestedOperation(request, OPERATIONS)
  if (!operation || status !== 200 || !isPaymentSent || answersOperation(operation, readAnswer(body))) return
  throw new PurchaseError('answer_unexpected', `The answer is not about this request. It is in ${file}`, { file })
}

function toResponse(answer: NamedAnswer): Response {
  const { status, body, paymentRequired, paymentResponse, receipt, isPaymentSent, entry } = answer
  const headers = new Headers({ 'Receipt-Check': receipt, ...(isPaymentSent && { Purchase: entry }) })
  // The answers of the service are JSON. Another text, such as the page of a proxy, is never HTML for the caller.
  headers.set('Content-Type', parseJson(body) === undefined ? 'text/plain; charset=utf-8' : 'application/json')
  if (paymentRequired !== null) headers.set('PAYMENT-REQUIRED', paymentRequired)
  if (paymentResponse !== null) headers.set('PAYMENT-RESPONSE', paymentResponse)
  // The constructor refuses a body, also an empty one, for statuses such as 204.
  return new Response(body === '' ? null : body, { status, headers })
}

/** An aborted call rejects. The purchase continues, and the next call finds it. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  if (!signal) return work
  const listening = new AbortController()
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { signal: listening.signal })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    listening.abort()
  }
}
