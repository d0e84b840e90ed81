/**
 * Buys the answers to requests. Each request has one purchase in a storage, so a repetition by any process, also after
 * a crash, sends the saved payment again or returns the saved answer, and signs nothing.
 */
import { openStorage } from '#open-storage'
import { canonicalJson, sha256Hex } from '../../base/canonical.ts'
import type { Operation } from '../../agent/operation/operation.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { namesAnotherOperation, parseResourceUrl } from '../../agent/operation/resource.ts'
import { ADDRESS_PATTERN, isPrivateKey, isSameAddress } from '../../agent/payment/accounts.ts'
import {
  buyIntoFile,
  checkReceipt,
  completePurchase,
  RUNTIME,
  type BoughtAnswer,
  type Buy,
  type CallOptions,
  type BuyerRuntime,
} from './buy.ts'
import type { ReadAuthorization } from './authorization-state.ts'
import { ConfigurationError, describeAnswer, failWith, PurchaseError, storageFailed } from './purchase-error.ts'
import { findPurchase, isDelivered, markDelivered, readPayment, readPurchase, type Purchase } from './purchase-file.ts'
import { Progress } from './progress.ts'
import { answersOperation, requestedOperation, toBaseUrl, type PurchaseRequest } from './purchase-request.ts'
import { compareQuote, pinReceiver, requireChecks, type DecodedQuote, type ExpectedTerms } from './quote.ts'
import { readAnswer } from '../../agent/payment/receipt/read.ts'
import { amountOf, DEPLOYMENTS, type Mode } from '../../agent/payment/terms.ts'
import { observedOutcome, outcomeOf, REPEAT_STATUSES } from './purchase-state.ts'
import { signerOf, type Key } from './signer.ts'
import { openSpending } from './spending.ts'
import type { OnStep } from './step.ts'
import { locationOf, type BuyerStorage, type PurchaseEntry } from './storage.ts'
import { fetchKeySet, purchasedReceipt } from './verify-purchase.ts'

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

const PUBLISHED = 'published'

type Settings = ReturnType<typeof toSettings>

type OpenOptions = BuyerOptions & {
  /** The highest price of an operation, in place of `amountMax`. */
  limitOf?: (operation: Operation) => number
  /**
   * Who marks a bought answer as delivered. By default this library, before its promise is fulfilled. A command marks
   * it when its output is written.
   */
  marks?: 'library' | 'caller'
  /** Signs a new payment in place of one that the account of another key cannot pay. */
  isNewPayment?: boolean | undefined
  /** Only sends a payment that is saved: nothing is signed. */
  isResumed?: boolean
}

/** Opens the purchases of a storage. Calls for a request that is being bought wait for it. */
export function openBuyer(options: OpenOptions): Buy {
  const settings = toSettings(options)
  const { storage, runtime, marks = 'library' } = settings
  const running = new Map<string, { work: ReturnType<Buy>; progress: Progress }>()
  let removal: Promise<void> | undefined
  return async (given, call = {}) => {
    checkCall(call)
    const { key = null, signal, timeoutMs, ...limits } = call
    const timeout = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)
    const request = { ...given, url: new URL(given.url).href }
    const name = purchaseName(request, key)
    await (removal ??= Promise.resolve(storage.removeLeftovers?.(runtime.now())).catch(() => undefined))
    const { work, progress } = begin(name, request, limits)
    const bought = await progress.wait(work, signal, timeout)
    if (marks === 'library' && bought.entry && bought.outcome.kind === 'sold')
      await markDelivered(bought.entry, runtime.now())
    return bought
  }

  /** Joins a call with equal limits. One with others works on the same purchase, as another process does. */
  function begin(name: string, request: PurchaseRequest, limits: Limits) {
    const { maxAgeSeconds = settings.maxAgeSeconds, amountMax, amountLeft } = limits
    const id = [name, maxAgeSeconds, amountMax, amountLeft].join(' ')
    const begun = running.get(id)
    if (begun) return begun
    const progress = new Progress()
    const approve = settings.approveWithin(limits)
    const work = buyNamed({ ...settings, maxAgeSeconds, approve, progress }, name, request)
      // Whatever else fails before a payment is sent is the storage.
      .catch((cause: unknown) => Promise.reject(storageFailed(cause)))
      .finally(() => running.delete(id))
    // Every caller may have aborted.
    work.catch(() => undefined)
    const started = { work, progress }
    running.set(id, started)
    return started
  }
}

function toSettings({ runtime = RUNTIME, mode = 'testnet', ...options }: OpenOptions) {
  const { expected = {} } = options
  checkOptions({ ...options, mode })
  const url = options.url === undefined ? undefined : readUrl(options.url)
  const { network, asset, domain } = DEPLOYMENTS[mode]
  const isPreset = url !== undefined && mode === 'testnet'
  const orPreset = <T>(value: T | undefined, preset: T, option: string, meaning: string): T => {
    if (value === undefined && !isPreset)
      throw new ConfigurationError(option, `is missing: ${meaning}. It has a default only with url on the testnet`)
    return value ?? preset
  }
  const folder = orPreset(options.folder, 'purchases', 'folder', 'where payments and answers are kept')
  const storage = openStorage(folder)
  const { amountMax } = expected
  const fixedLimit = amountMax === undefined ? undefined : () => amountMax
  const usualPrice = (operation: Operation) => amountOf({ mode }, operation)
  const limitOf =
    options.limitOf ??
    orPreset(fixedLimit, usualPrice, 'expected.amountMax', 'the highest price of a request in micro-USDC')
  const payTo = orPreset(expected.payTo, PUBLISHED, 'expected.payTo', 'the receiver of payments')
  const dayMax = expected.amountPerDayMax
  const reserve = dayMax === undefined ? undefined : openSpending(storage, dayMax, () => runtime.now())
  const terms = { network, asset, domain, ...expected }
  if (payTo === PUBLISHED && url === undefined)
    throw new ConfigurationError('url', 'is missing: the service there publishes the receiver')
  const service = { url: url ?? '', network: terms.network, fetch: runtime.fetch }
  const readReceiver = async () => {
    if (typeof payTo === 'string') return payTo === PUBLISHED ? pinReceiver(storage, service) : payTo
    return payTo().catch(failWith('service_unreachable'))
  }
  const approveWithin = (call: Limits) => async (request: PurchaseRequest, quote: DecodedQuote) => {
    const operation = requestedOperation(request, OPERATIONS)
    const resource = expectedResource(request, operation, quote)
    const wanted = { ...terms, payTo: await readReceiver(), resource }
    const limit = call.amountMax ?? (operation ? limitOf(operation) : (amountMax ?? 0))
    const checks = compareQuote(quote, wanted, limit)
    options.onStep?.({ kind: 'quoted', quote: quote.requirements, checks })
    requireChecks(checks, limit)
    if (Number(quote.requirements.amount) > (call.amountLeft ?? Infinity))
      throw new PurchaseError('allowance_used', 'The pages would cost more than totalMax. Nothing was signed')
  }
  return { ...options, storage, approveWithin, readKeySet: keepKeySet(runtime), reserve, runtime }
}

/** @throws a ConfigurationError */
function readUrl(url: string): string {
  try {
    return toBaseUrl(url)
  } catch {
    throw new ConfigurationError(
      'url',
      'must be http:// or https:// and the host of the service, with nothing after it',
    )
  }
}

/** @throws a ConfigurationError about the first wrong option of a program without types */
function checkOptions({ key, mode = 'testnet', folder = '', maxAgeSeconds = 0, expected = {} }: BuyerOptions): void {
  const { payTo = PUBLISHED, amountMax = 0, amountPerDayMax = 0 } = expected
  if (typeof key === 'string' ? !isPrivateKey(key) : typeof key?.signTypedData !== 'function')
    throw new ConfigurationError('key', 'must be 0x and 64 hex digits, or a signer with address and signTypedData')
  if (!Object.hasOwn(DEPLOYMENTS, mode)) throw new ConfigurationError('mode', 'must be testnet or mainnet')
  if (typeof payTo === 'string' && payTo !== PUBLISHED && !ADDRESS_PATTERN.test(payTo))
    throw new ConfigurationError('expected.payTo', 'must be an address, "published", or a function')
  if (typeof folder !== 'string' && typeof folder?.locate !== 'function')
    throw new ConfigurationError('folder', 'must be the path of a folder, or a BuyerStorage')
  requireAmount('expected.amountMax', amountMax)
  requireAmount('expected.amountPerDayMax', amountPerDayMax)
  requireAge(maxAgeSeconds)
}

/** What the options of a call limit. */
type Limits = Pick<CallOptions, 'maxAgeSeconds' | 'amountMax' | 'amountLeft'>

/** Timers of the common runtimes end at once after a longer time. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

const OPTIONS: readonly (keyof BuyerOptions)[] = [
  'key',
  'url',
  'mode',
  'folder',
  'expected',
  'allowance',
  'readAuthorization',
  'maxAgeSeconds',
  'onStep',
  'runtime',
]
type Expected = NonNullable<BuyerOptions['expected']>
const EXPECTED: readonly (keyof Expected)[] = ['network', 'asset', 'domain', 'payTo', 'amountMax', 'amountPerDayMax']
/** Of the methods. The library itself sets the others. */
const OF_CALL: readonly (keyof CallOptions)[] = ['signal', 'timeoutMs', 'maxAgeSeconds', 'amountMax']

/** A limit with a wrong name would limit nothing. */
function refuseUnknown(options: object, known: readonly string[], prefix = ''): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown === undefined) return
  const option = `${prefix}${unknown}`
  const advice = `Remove the option ${option}. The options there are ${known.join(', ')}.`
  throw new ConfigurationError(option, 'is no option', advice)
}

/** @throws a ConfigurationError about the first option that the library does not have */
export function refuseUnknownOptions(options: BuyerOptions): void {
  refuseUnknown(options, OPTIONS)
  refuseUnknown(options.expected ?? {}, EXPECTED, 'expected.')
}

/** @throws a ConfigurationError */
function checkCall({ key: _key, amountLeft: _left, ...call }: CallOptions): void {
  refuseUnknown(call, OF_CALL)
  const { signal, timeoutMs = 0, maxAgeSeconds = 0, amountMax = 0 } = call
  if (signal && typeof signal.addEventListener !== 'function')
    throw new ConfigurationError('signal', 'must be an AbortSignal')
  if (!(timeoutMs >= 0 && timeoutMs <= TIMEOUT_MS_MAX))
    throw new ConfigurationError('timeoutMs', `must be a number from 0 to ${TIMEOUT_MS_MAX}`)
  requireAge(maxAgeSeconds)
  requireAmount('amountMax', amountMax)
}

function requireAge(seconds: number): void {
  if (!(seconds >= 0)) throw new ConfigurationError('maxAgeSeconds', 'must be a number from 0')
}

/** @throws a ConfigurationError unless it is an amount in micro-USDC */
export function requireAmount(option: string, amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0)
    throw new ConfigurationError(option, 'must be a whole number of micro-USDC')
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

/** Begins the names of all entries of the purchases of a request. */
export function purchaseName({ method, url, body }: PurchaseRequest, key: string | null = null): string {
  return sha256Hex(canonicalJson({ method, url: new URL(url).href, body, key }))
}

/** An answer that no caller has got is returned again for this time, whatever its age may be. */
const UNDELIVERED_SECONDS_MAX = 86_400

type Task = Settings & { approve: ReturnType<Settings['approveWithin']>; progress: Progress }

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
    if (!saved) progress.none()
    if (!saved) return conclude(request, await buyIntoFile({ ...task, entry, request }), task)
    if (saved.ended || (await isOutdated(task, entry, saved))) continue
    const file = locationOf(entry)
    progress.stored(file)
    const known = await readBought(task, entry, saved)
    if (!known) task.onStep?.({ kind: 'resumed', file, signedAt: saved.signed_at })
    const bought = known ?? (await completePurchase({ ...task, entry, request }, saved))
    if (known || task.isResumed || !(await readPurchase(entry)).ended) return conclude(request, bought, task)
    progress.none()
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
  if (!entry) return { ...bought, outcome: { kind: 'not_sold' }, amount: 0 }
  const file = locationOf(entry)
  const operation = requestedOperation(request, OPERATIONS)
  if (operation && status === 200 && !answersOperation(operation, readAnswer(body)))
    throw new PurchaseError('answer_unexpected', `The answer is not about this request. It is in ${file}`, { file })
  const purchase = await readPurchase(entry)
  const outcome = await observedOutcome(purchase, runtime.now(), readAuthorization)
  const isRepeated = REPEAT_STATUSES.has(status)
  if (!isRepeated && status !== 402 && status !== 409)
    return { ...bought, outcome, amount: Number(readPayment(purchase).amount) }
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
