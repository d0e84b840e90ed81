/**
 * One purchase and its file: quote, approval, signature, file, payment, answer, receipt. The payment is on disk before
 * it is sent. An existing file is completed with the payment in it, and nothing is signed.
 */
import { PAYMENT_HEADERS } from '../../agent/payment/terms.ts'
import type { PaymentRequired } from '@x402/core/types'
import * as z from 'zod'
import { encodeBase64 } from '../../base/base64.ts'
import { PAYMENT_IDENTIFIER } from '../../agent/payment/extensions.ts'
import { fetchText, type Fetch } from '../../base/bounded-fetch.ts'
import { createAuthorization, signerOf, typedDataOf, type Key, type Signer } from './signer.ts'
import { describeAnswer, failWith, PurchaseError, storageFailed } from './purchase-error.ts'
import { createPurchase, findPurchase, paidEntry, readPurchase, writePurchase, type Purchase } from './purchase-file.ts'
import type { Outcome } from './outcome.ts'
import type { Progress } from './progress.ts'
import type { PurchaseRequest } from './purchase-request.ts'
import { decidingCode, endsUnsold, REPEAT_STATUSES } from './purchase-state.ts'
import { decodeQuote, type DecodedQuote } from './quote.ts'
import type { openSpending } from './spending.ts'
import type { OnStep } from './step.ts'
import { locationOf, type PurchaseEntry } from './storage.ts'
import { fetchKeySet, keySetUrl, purchasedReceipt, verifyPurchase } from './verify-purchase.ts'

const REPEATS_MAX = 6
const RETRY_AFTER_SECONDS_DEFAULT = 2
const RETRY_AFTER_SECONDS_MAX = 60

export interface BuyerRuntime {
  fetch: Fetch
  sleep: (milliseconds: number) => Promise<void>
  now: () => Date
}

export const RUNTIME: BuyerRuntime = {
  fetch: (...input) => globalThis.fetch(...input),
  sleep: (milliseconds) => new Promise((resolve) => void setTimeout(resolve, milliseconds)),
  now: () => new Date(),
}

export interface PurchaseAnswer {
  status: number
  body: string
  paymentRequired: string | null
  paymentResponse: string | null
}

/** @throws if no answer arrives */
async function sendRequest(
  { fetch }: BuyerRuntime,
  request: PurchaseRequest,
  payment?: string,
): Promise<PurchaseAnswer & { retryAfterSeconds: number }> {
  const { response, text } = await fetchText(fetch, request.url, {
    method: request.method,
    headers: { ...request.headers, ...(payment !== undefined && { [PAYMENT_HEADERS.request]: payment }) },
    body: request.body,
  })
  return {
    status: response.status,
    body: text,
    paymentRequired: response.headers.get(PAYMENT_HEADERS.required),
    paymentResponse: response.headers.get(PAYMENT_HEADERS.response),
    retryAfterSeconds: parseRetryAfter(response.headers.get('Retry-After')),
  }
}

/** The default if the header is missing or has another form than seconds. */
function parseRetryAfter(header: string | null): number {
  return /^[1-9][0-9]{0,8}$/.test(header ?? '') ? Number(header) : RETRY_AFTER_SECONDS_DEFAULT
}

/** Signs one EIP-3009 authorization for a quote that the caller has checked. The purchase is not saved yet. */
export async function signPurchase(
  request: PurchaseRequest,
  quote: DecodedQuote,
  { signer, now, onStep }: { signer: Signer; now: Date; onStep?: OnStep | undefined },
): Promise<Purchase> {
  const { required, requirements } = quote
  const authorization = createAuthorization(quote, signer.address, now)
  const typed = typedDataOf(quote, authorization)
  onStep?.({ kind: 'signing', address: signer.address, typed })
  // A signer that throws at once fails as one that rejects.
  const sign = async () => signer.signTypedData(typed)
  const noSignature = 'The signer gave no signature. Nothing was sent'
  const signature = await sign().catch(failWith('signature_failed', noSignature))
  const { x402Version, resource } = required
  const extensions = withPaymentId(required.extensions)
  const payload = {
    x402Version,
    payload: { authorization, signature },
    extensions,
    resource,
    accepted: requirements,
  }
  const payment = encodeBase64(JSON.stringify(payload))
  return { request, payment, quote: { ...required }, signed_at: now.toISOString(), answer: null }
}

/**
 * Adds a random payment id to the extensions of a quote that declares them. Signature and authorization become public
 * on chain; without the id, anyone could rebuild the payment from them and fetch the bought answer.
 */
function withPaymentId(extensions: PaymentRequired['extensions']): Record<string, unknown> {
  const declared = z.looseObject({ info: z.looseObject({}) }).safeParse(extensions?.[PAYMENT_IDENTIFIER]).data
  if (!declared) return { ...extensions }
  return { ...extensions, [PAYMENT_IDENTIFIER]: { ...declared, info: { ...declared.info, id: crypto.randomUUID() } } }
}

/** Sends the payment in the file of a purchase, repeats it while the outcome is unknown, and saves the answer. */
async function sendPayment(
  { runtime, entry, onStep, isNew = false }: CompletedTask,
  purchase: Purchase,
): Promise<PurchaseAnswer> {
  const answer = await sendUntilKnown(runtime, purchase, onStep)
  onStep?.({ kind: 'answered', status: answer.status })
  const answered = { ...purchase, answer: toSaved(answer) }
  // False if another process has created it.
  if (purchasedReceipt(answered) !== undefined) await createPurchase(paidEntry(entry), answered)
  else await saveRefusal(entry, answered, !isNew && endsUnsold(answer))
  return answer
}

async function saveRefusal(entry: PurchaseEntry, answered: Purchase, hasEnded: boolean): Promise<void> {
  const saved = await findPurchase(entry)
  // Another process may have saved an answer in the meantime, which a refusal never replaces.
  if (saved?.answer?.status === 200) return
  // A decision about the request stays, whatever a later answer says about its payment.
  const answer = saved && decidingCode(saved) !== undefined ? saved.answer : answered.answer
  await writePurchase(entry, { ...answered, answer, ...(hasEnded && { ended: true }) })
}

/** The form of an answer in a purchase file. */
export function toSaved(answer: PurchaseAnswer): NonNullable<Purchase['answer']> {
  const { status, body, paymentResponse } = answer
  const { reason } = describeAnswer(answer)
  return { status, body, payment_response: paymentResponse, ...(reason !== undefined && { reason }) }
}

async function sendUntilKnown(runtime: BuyerRuntime, purchase: Purchase, onStep?: OnStep): Promise<PurchaseAnswer> {
  for (let repeats = 0; ; repeats += 1) {
    const isLast = repeats === REPEATS_MAX
    onStep?.({ kind: 'sending', attempt: repeats + 1 })
    const answer = await sendRequest(runtime, purchase.request, purchase.payment).catch((cause: unknown) => {
      if (isLast) throw cause
      return undefined
    })
    if (answer && (isLast || !REPEAT_STATUSES.has(answer.status))) return answer
    const seconds = Math.min(answer?.retryAfterSeconds ?? RETRY_AFTER_SECONDS_DEFAULT, RETRY_AFTER_SECONDS_MAX)
    onStep?.({ kind: 'waiting', seconds, answer: answer && describeAnswer(answer) })
    await runtime.sleep(seconds * 1000)
  }
}

interface PurchaseTask {
  request: PurchaseRequest
  entry: PurchaseEntry
  key: Key
  /** Throws or rejects if the quote must not be signed. */
  approve: (request: PurchaseRequest, quote: DecodedQuote) => void | Promise<void>
  /** Limits what may still be signed. Checked after `approve`. */
  allowance?: { left: number } | undefined
  /** Limits the spending of a day. */
  reserve?: ReturnType<typeof openSpending> | undefined
  /** Returns a kept key set. Without it, the key set is fetched for each receipt. */
  readKeySet?: (url: string) => Promise<unknown>
  onStep?: OnStep | undefined
  runtime: BuyerRuntime
  progress: Progress
}

type CompletedTask = Pick<PurchaseTask, 'request' | 'entry' | 'readKeySet' | 'onStep' | 'runtime'> & {
  /** Whether this call has signed the payment. Only the refusal of a payment that is sent once more ends it. */
  isNew?: boolean
}

export interface BoughtAnswer extends PurchaseAnswer {
  /**
   * `valid`: the service signed the receipt for this answer, request and payment. `missing`: the answer has no receipt,
   * for example because it was not paid. `unchecked`: the key set could not be read; the command
   * `irish-company-agent verify` can check the file later.
   */
  receipt: 'valid' | 'missing' | 'unchecked'
  /** Undefined if the service asked for no payment. */
  entry: PurchaseEntry | undefined
}

export interface CallOptions {
  /** Requests with different keys are different purchases. */
  key?: string | null
  /** Ends the call. Before the signature nothing is signed then; after it, the outcome is unknown. */
  signal?: AbortSignal | undefined
  /** After this time, with all repetitions, the call ends as if it were aborted. In an iteration, of each page. */
  timeoutMs?: number | undefined
  /** An answer of this age is bought again. */
  maxAgeSeconds?: number | undefined
  /** The highest price, in micro-USDC. */
  amountMax?: number | undefined
  /** What may still be signed of a sum that the caller has limited, in micro-USDC. */
  amountLeft?: number | undefined
}

/** Buys the answer to a request, or returns the one that it has bought. Throws a PurchaseError. */
export type Buy = (request: PurchaseRequest, options?: CallOptions) => Promise<Bought>

interface Bought extends BoughtAnswer {
  outcome: Outcome
  /** Of the signed payment, in micro-USDC. */
  amount: number
}

/**
 * Asks for a quote, signs one payment into a file that does not exist, and returns the bought answer or the refusal.
 * @throws PurchaseError if the service or the signer does not answer, if every caller has aborted, or if the receipt is
 * wrong; the error of `approve` or of the storage
 */
export async function buyIntoFile(task: PurchaseTask): Promise<BoughtAnswer> {
  const { request, entry, key, approve, allowance, reserve, onStep, runtime, progress } = task
  progress.requireCaller()
  const unpaid = await sendRequest(runtime, request).catch(failWith('service_unreachable'))
  if (unpaid.status !== 402 || unpaid.paymentRequired === null)
    return { ...unpaid, receipt: 'missing', entry: undefined }
  const quote = decodeQuote(unpaid.paymentRequired)
  await approve(request, quote)

  const amount = Number(quote.requirements.amount)
  const signer = await signerOf(key)
  progress.requireCaller()
  if (allowance) {
    if (amount > allowance.left)
      throw new PurchaseError('allowance_used', 'More would be paid than was announced. Nothing was signed')
    allowance.left -= amount
  }
  await reserve?.({ purchase: entry.name, amount })
  progress.requireCaller()
  const purchase = await signPurchase(request, quote, { signer, now: runtime.now(), onStep })
  progress.beginStoring()
  // If several calls run at once, one creates the file, and all of them send the payment in it.
  const isCreated = await createPurchase(entry, purchase).catch(failToCreate(entry))
  const file = locationOf(entry)
  progress.stored(file)
  onStep?.({ kind: 'stored', file, payer: signer.address })
  return completePurchase({ ...task, isNew: true }, isCreated ? purchase : await readPurchase(entry))
}

/** The file can exist if only its last fsync failed. Its payment was not sent, and the next call sends it. */
const failToCreate = (entry: PurchaseEntry) => async (cause: unknown) => {
  const mayExist = await entry.storage.read(entry.name).then(
    (text) => text !== undefined,
    () => true,
  )
  if (!mayExist) throw storageFailed(cause)
  const file = locationOf(entry)
  return failWith('outcome_unknown', `${file} may not be saved`, file)(cause)
}

/** Sends the payment of a purchase that is on disk. Throws as {@link buyIntoFile}. */
export async function completePurchase(task: CompletedTask, saved: Purchase): Promise<BoughtAnswer> {
  const { request, entry } = task
  const file = locationOf(entry)
  // Headers may differ, such as those for tracing.
  const { method, url, body } = saved.request
  if (method !== request.method || url !== request.url || body !== request.body)
    throw new PurchaseError('purchase_unreadable', `${file} is the purchase of another request`, { file })
  const purchase = { ...saved, request }
  const message = 'No answer to the payment arrived, or it could not be saved'
  const answer = await sendPayment(task, purchase).catch(failWith('outcome_unknown', message, file))
  const receipt = await checkReceipt(task, { ...purchase, answer: toSaved(answer) })
  return { ...answer, receipt, entry }
}

/** @throws if the receipt is wrong */
export async function checkReceipt(
  { entry, runtime, readKeySet }: Pick<PurchaseTask, 'entry' | 'readKeySet' | 'runtime'>,
  purchase: Purchase,
): Promise<BoughtAnswer['receipt']> {
  if (purchasedReceipt(purchase) === undefined) return 'missing'
  const file = locationOf(entry)
  const failure = (text: string) => new PurchaseError('receipt_invalid', `${text}. The answer is in ${file}`, { file })
  const url = keySetUrl(purchase)
  if (url === undefined) throw failure('The receipt names another service')
  const fetchNow = (from: string) => fetchKeySet(runtime.fetch, from)
  let wrong: string[] = []
  // A kept key set can be older than the key.
  for (const read of readKeySet ? [readKeySet, fetchNow] : [fetchNow]) {
    const keySet = await read(url).catch(() => undefined)
    if (keySet === undefined) return 'unchecked'
    const { checks } = await verifyPurchase(purchase, keySet)
    wrong = checks.flatMap(({ name, passed }) => (passed ? [] : name))
    if (wrong.length === 0) return 'valid'
  }
  throw failure(`The receipt is wrong: ${wrong.join(', ')}`)
}
