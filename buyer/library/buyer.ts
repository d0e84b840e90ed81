/**
 * A `fetch` that pays. Each request has one purchase in a storage, so a repetition by any process, also after a crash,
 * sends the saved payment again or returns the saved answer, and signs nothing. Of its imports only
 * folder-storage.ts needs Node.js.
 */
import { canonicalJson, sha256Hex } from '../../store/base/canonical.ts'
import type { Operation } from '../../agent/operation/operation.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { namesAnotherOperation, parseResourceUrl } from '../../agent/operation/resource.ts'
import { ADDRESS_PATTERN, isPrivateKey, isSameAddress } from '../../agent/payment/accounts.ts'
import { decodeUtf8, parseJson } from '../../store/base/read-body.ts'
import {
  buyIntoFile,
  checkReceipt,
  completePurchase,
  RUNTIME,
  type BoughtAnswer,
  type Buy,
  type BuyerRuntime,
} from './buy.ts'
import type { ReadAuthorization } from './authorization-state.ts'
import { createMethods, type BuyerMethods } from './methods.ts'
import { chargedBy } from './outcome.ts'
import { describeAnswer, failWith, PurchaseError, storageFailed } from './purchase-error.ts'
import { openStorage } from './folder-storage.ts'
import { findPurchase, isDelivered, markDelivered, readPayment, readPurchase, type Purchase } from './purchase-file.ts'
import { Progress } from './progress.ts'
import { answersOperation, requestedOperation, toBaseUrl, type PurchaseRequest } from './purchase-request.ts'
import { compareQuote, pinReceiver, requireChecks, type DecodedQuote, type ExpectedTerms } from './quote.ts'
import { readAnswer } from '../../agent/payment/receipt/read.ts'
import { amountOf, DEPLOYMENTS, PAYMENT_HEADERS, type Mode } from '../../agent/payment/terms.ts'
import { observedOutcome, outcomeOf, REPEAT_STATUSES } from './purchase-state.ts'
import { signerOf, type Key } from './signer.ts'
import { openSpending } from './spending.ts'
import type { OnStep } from './step.ts'
import { locationOf, type BuyerStorage, type PurchaseEntry } from './storage.ts'
import { fetchKeySet, purchasedReceipt } from './verify-purchase.ts'

export type { AuthorizationState, ReadAuthorization, SignedAuthorization } from './authorization-state.ts'
export { filingStatus, type FilingStatus } from '../../agent/operation/filing-status.ts'
export type { BuyerMethods } from './methods.ts'
export { describeOutcome, type Charged, type Outcome } from './outcome.ts'
export { PurchaseError, type PurchaseErrorCode, type ServiceAnswer } from './purchase-error.ts'
export type { Key, LocalAccount, Signer } from './signer.ts'
export type { OnStep, PurchaseStep } from './step.ts'
export type { BuyerStorage } from './storage.ts'

export interface BuyerOptions {
  /** What signs payments: a private key (0x and 64 hex digits), an account of viem, or another signer. */
  key: Key
  /**
   * The URL of the service, which the methods of the operations need. On the testnet `folder`, `payTo` and `amountMax`
   * then have defaults.
   */
  url?: string
  /** Determines the default of network, asset and domain. Default: `testnet`. */
  mode?: Mode
  /**
   * The purchases and the spending of each day, in a folder or another storage. Keep it secret: its entries fetch the
   * bought answers. Default on the testnet: `purchases`.
   */
  folder?: string | BuyerStorage
  /**
   * What a quote must have; otherwise nothing is signed. The `payTo` `published`, the default on the testnet, is the
   * receiver that the service at `url` published when the folder was used first. A function finds it when it is needed.
   */
  expected?: Partial<Omit<ExpectedTerms, 'resource' | 'payTo'>> & {
    payTo?: string | (() => Promise<string>)
    /** The highest price of one request, in micro-USDC. Default on the testnet: the usual price of the operation. */
    amountMax?: number
    /**
     * The highest sum of a day in UTC, in micro-USDC, of all processes that use the folder. By default there is none.
     */
    amountPerDayMax?: number | undefined
  }
  /** Micro-USDC that may still be signed. Buyers can share it, and each signature reduces it. */
  allowance?: { left: number } | undefined
  /** What a node says about an authorization, so that `charged` of a refusal is known earlier. */
  readAuthorization?: ReadAuthorization | undefined
  /** After this time a finished request is bought again. By default its saved answer is returned forever. */
  maxAgeSeconds?: number | undefined
  /** Gets each step of a purchase, to show it. */
  onStep?: OnStep | undefined
  runtime?: BuyerRuntime
}

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

const PUBLISHED = 'published'

/** Names the purchase. It is not sent to the service. */
const KEY_HEADER = 'Idempotency-Key'

type Settings = ReturnType<typeof toSettings>

/**
 * Opens a folder of purchases. All buyers of one folder, in any process, share its purchases and limits.
 * @throws an error that names what is missing, or that the key is wrong
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
  const buy = openBuyer(options)
  const fetch: Buyer['fetch'] = async (input, init) => {
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    const { request, key } = await readRequest(new Request(input, init))
    return toResponse(await buy(request, { key, signal }))
  }
  return { fetch, ...createMethods(options.url, buy) }
}

type OpenOptions = BuyerOptions & {
  /** The highest price of an operation, in place of `amountMax`. */
  limitOf?: (operation: Operation) => number
  /**
   * Who marks a bought answer as delivered. By default this library, before its promise is fulfilled. A command marks
   * it when its output is written. The answers of a list are never bought anew, and need no mark.
   */
  marks?: 'library' | 'caller'
  /** Signs a new payment in place of one that the account of another key cannot pay. */
  isNewPayment?: boolean | undefined
  /** Only sends a payment that is saved: nothing is signed. */
  isResumed?: boolean
}

/** As {@link createBuyer}, for requests of this program. Calls for a request that is being bought wait for it. */
export function openBuyer(options: OpenOptions): Buy {
  const settings = toSettings(options)
  const { storage, runtime, marks = 'library' } = settings
  const running = new Map<string, { work: ReturnType<Buy>; progress: Progress }>()
  let removal: Promise<void> | undefined
  return async (given, { key = null, signal } = {}) => {
    if (signal?.aborted) throw new PurchaseError('aborted', 'The call was aborted. Nothing was signed')
    const request = { ...given, url: new URL(given.url).href }
    const name = purchaseName(request, key)
    await (removal ??= Promise.resolve(storage.removeLeftovers?.(runtime.now())).catch(() => undefined))
    const { work, progress } = running.get(name) ?? begin(name, request)
    const bought = await progress.wait(work, signal)
    if (marks === 'library' && bought.entry && bought.outcome.kind === 'sold')
      await markDelivered(bought.entry, runtime.now())
    return bought
  }

  function begin(name: string, request: PurchaseRequest) {
    const progress = new Progress()
    const work = buyNamed({ ...settings, progress }, name, request)
      // Whatever else fails before a payment is sent is the storage.
      .catch((cause: unknown) => Promise.reject(storageFailed(cause)))
      .finally(() => running.delete(name))
    // Every caller may have aborted.
    work.catch(() => undefined)
    running.set(name, { work, progress })
    return { work, progress }
  }
}

function toSettings({ runtime = RUNTIME, mode = 'testnet', ...options }: OpenOptions) {
  const { expected = {} } = options
  checkOptions({ ...options, mode })
  const url = options.url === undefined ? undefined : toBaseUrl(options.url)
  const { network, asset, domain } = DEPLOYMENTS[mode]
  const isPreset = url !== undefined && mode === 'testnet'
  const orPreset = <T>(value: T | undefined, preset: T, rule: string): T => {
    if (value === undefined && !isPreset) throw new Error(`${rule}. It has a default only with url on the testnet`)
    return value ?? preset
  }
  const folder = orPreset(options.folder, 'purchases', 'folder is missing: where payments and answers are kept')
  const storage = openStorage(folder)
  const amountRule = 'expected.amountMax is missing: micro-USDC for a request'
  const { amountMax } = expected
  const fixedLimit = amountMax === undefined ? undefined : () => amountMax
  const usualPrice = (operation: Operation) => amountOf({ mode }, operation)
  const limitOf = options.limitOf ?? orPreset(fixedLimit, usualPrice, amountRule)
  const payTo = orPreset(expected.payTo, PUBLISHED, 'expected.payTo is missing: the receiver of payments')
  const dayMax = expected.amountPerDayMax
  const reserve = dayMax === undefined ? undefined : openSpending(storage, dayMax, () => runtime.now())
  const terms = { network, asset, domain, ...expected }
  if (payTo === PUBLISHED && url === undefined) throw new Error('url is missing: it publishes the receiver')
  const service = { url: url ?? '', network: terms.network, fetch: runtime.fetch }
  const readReceiver = async () => {
    if (typeof payTo === 'string') return payTo === PUBLISHED ? pinReceiver(storage, service) : payTo
    return payTo().catch(failWith('service_unreachable'))
  }
  const approve = async (request: PurchaseRequest, quote: DecodedQuote) => {
    const operation = requestedOperation(request, OPERATIONS)
    const resource = expectedResource(request, operation, quote)
    const wanted = { ...terms, payTo: await readReceiver(), resource }
    const limit = operation ? limitOf(operation) : (amountMax ?? 0)
    const checks = compareQuote(quote, wanted, limit)
    options.onStep?.({ kind: 'quoted', quote: quote.requirements, checks })
    requireChecks(checks, limit)
  }
  return { ...options, storage, approve, readKeySet: keepKeySet(runtime), reserve, runtime }
}

/** @throws an error about the first wrong option of a program without types */
function checkOptions({ key, mode = 'testnet', maxAgeSeconds = 0, expected = {} }: BuyerOptions): void {
  const { payTo = PUBLISHED, amountMax = 0, amountPerDayMax = 0 } = expected
  if (typeof key === 'string' ? !isPrivateKey(key) : typeof key?.signTypedData !== 'function')
    throw new Error('The key must be 0x and 64 hex digits, or a signer with address and signTypedData')
  if (!Object.hasOwn(DEPLOYMENTS, mode)) throw new Error('mode must be testnet or mainnet')
  if (typeof payTo === 'string' && payTo !== PUBLISHED && !ADDRESS_PATTERN.test(payTo))
    throw new Error('expected.payTo must be an address, "published", or a function')
  if (![amountMax, amountPerDayMax].every((amount) => Number.isSafeInteger(amount) && amount >= 0))
    throw new Error('amountMax and amountPerDayMax must be whole numbers of micro-USDC')
  if (!(maxAgeSeconds >= 0)) throw new Error('maxAgeSeconds must be a number from 0')
}

/** So that a list does not fetch the key set for each receipt. A new key is published for longer before it signs. */
const KEY_SET_AGE_MS_MAX = 60_000

function keepKeySet({ fetch, now }: BuyerRuntime) {
  let kept: { url: string; at: number; keySet: unknown } | undefined
  return async (url: string): Promise<unknown> => {
    const at = now().getTime()
    if (kept?.url !== url || at - kept.at >= KEY_SET_AGE_MS_MAX)
      kept = { url, at, keySet: await fetchKeySet(fetch, url) }
    return kept.keySet
  }
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

/** Begins the names of all entries of the purchases of a request. */
export function purchaseName({ method, url, body }: PurchaseRequest, key: string | null = null): string {
  return sha256Hex(canonicalJson({ method, url: new URL(url).href, body, key }))
}

/** An answer that no caller has got is returned again for this time, whatever its age may be. */
const UNDELIVERED_SECONDS_MAX = 86_400

type Task = Settings & { progress: Progress }

/**
 * Continues the newest purchase of a request. Another payment is signed if there is none, if the answer is too old, or
 * if the payment has ended unsold.
 */
async function buyNamed(task: Task, name: string, request: PurchaseRequest): ReturnType<Buy> {
  const { storage, progress } = task
  let index = await lastIndex(storage, name)
  if (task.isNewPayment) {
    await requireOtherAccount(task, entryOf(storage, name, index))
    index += 1
  }
  for (; ; index += 1) {
    const entry = entryOf(storage, name, index)
    const saved = await findPurchase(entry)
    if (!saved && task.isResumed) throw new PurchaseError('payment_refused', 'There is no payment to send again')
    if (!saved) return conclude(request, await buyIntoFile({ ...task, entry, request }), task)
    if (saved.ended || (await isOutdated(task, entry, saved))) continue
    progress.stored(locationOf(entry))
    const known = await readBought(task, entry, saved)
    const bought = known ?? (await completePurchase({ ...task, entry, request }, saved))
    if (known || task.isResumed || !(await readPurchase(entry)).ended) return conclude(request, bought, task)
    progress.file = undefined
  }
}

/** Whether the answer is to be bought anew. One that was not delivered is returned first. */
async function isOutdated({ maxAgeSeconds, runtime, onStep }: Task, entry: PurchaseEntry, saved: Purchase) {
  if (outcomeOf(saved, runtime.now()).kind !== 'sold' || maxAgeSeconds === undefined) return false
  const { signed_at: signedAt } = saved
  const age = (runtime.now().getTime() - Date.parse(signedAt)) / 1000
  if (age < maxAgeSeconds) return false
  if (await isDelivered(entry)) return true
  const isKept = age < UNDELIVERED_SECONDS_MAX
  onStep?.({ kind: isKept ? 'returned' : 'left', file: locationOf(entry), signedAt })
  return !isKept
}

/** @throws unless the newest payment was refused for its funds, and the key has another address */
async function requireOtherAccount({ key, runtime }: Task, entry: PurchaseEntry): Promise<void> {
  const saved = await findPurchase(entry)
  const rule = 'A new payment needs a payment that was refused for its funds, and the key of another address'
  if (!saved) throw new PurchaseError('new_payment_refused', `${rule}. There is none, and nothing was signed`)
  const { address } = await signerOf(key)
  const isOther = !isSameAddress(readPayment(saved).payer, address)
  if (isOther && saved.answer && describeAnswer(saved.answer).reason === 'insufficient_funds') return
  const outcome = outcomeOf(saved, runtime.now())
  throw new PurchaseError('new_payment_refused', `${rule}. Nothing was signed`, { file: locationOf(entry), outcome })
}

/** @throws if the payment was refused, if its outcome is unknown, or if a paid answer is about something else */
export async function conclude(
  request: PurchaseRequest,
  bought: BoughtAnswer,
  { runtime, readAuthorization }: Pick<Settings, 'runtime' | 'readAuthorization'>,
): ReturnType<Buy> {
  const { entry, status, body } = bought
  if (!entry) return { ...bought, outcome: { kind: 'not_sold' } }
  const file = locationOf(entry)
  const operation = requestedOperation(request, OPERATIONS)
  if (operation && status === 200 && !answersOperation(operation, readAnswer(body)))
    throw new PurchaseError('answer_unexpected', `The answer is not about this request. It is in ${file}`, { file })
  const outcome = await observedOutcome(await readPurchase(entry), runtime.now(), readAuthorization)
  const isRepeated = REPEAT_STATUSES.has(status)
  if (!isRepeated && status !== 402 && status !== 409) return { ...bought, outcome }
  const answer = describeAnswer(bought)
  const message = `The service answered ${[status, answer.code, answer.reason].filter(Boolean).join(' ')} to the payment`
  throw new PurchaseError(isRepeated ? 'outcome_unknown' : 'payment_refused', message, { file, answer, outcome })
}

const entryOf = (storage: BuyerStorage, name: string, index: number): PurchaseEntry => ({
  storage,
  name: `${name}-${index}.json`,
})

/** The index of the newest purchase of a request. A renewed request keeps its earlier purchases. */
async function lastIndex(storage: BuyerStorage, name: string): Promise<number> {
  let index = 0
  while (await findPurchase(entryOf(storage, name, index + 1))) index += 1
  return index
}

/** The saved answer, without asking the service. Undefined if it has no receipt yet. */
async function readBought(
  settings: Settings,
  entry: PurchaseEntry,
  saved: Purchase,
): Promise<BoughtAnswer | undefined> {
  if (!saved.answer || purchasedReceipt(saved) === undefined) return undefined
  const { status, body, payment_response: paymentResponse } = saved.answer
  const receipt = await checkReceipt({ ...settings, entry }, saved)
  return { status, body, paymentResponse, paymentRequired: null, receipt, entry }
}

/** The URL that a quote must name: the requested one, or another one of this service for the same operation. */
function expectedResource(
  request: PurchaseRequest,
  operation: Operation | undefined,
  { required }: DecodedQuote,
): string {
  if (!operation || !URL.canParse(required.resource.url)) return request.url
  const quoted = new URL(required.resource.url)
  if (!parseResourceUrl(quoted, OPERATIONS) || namesAnotherOperation(quoted.href, operation, OPERATIONS))
    return request.url
  return `${new URL(request.url).origin}${quoted.pathname}${quoted.search}`
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
