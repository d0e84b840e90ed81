/**
 * One purchase and its file: quote, approval, signature, file, payment, answer, receipt. An existing file is completed
 * with the payment in it, and nothing is signed.
 */
import { sendPayment, sendRequest, signPurchase, toSaved, type BuyerRuntime, type PurchaseAnswer } from './buy.ts'
import { PurchaseError } from './purchase-error.ts'
import { createPurchase, findPurchase, readPurchase, type Purchase } from './purchase-file.ts'
import type { PurchaseRequest } from './purchase-request.ts'
import { locationOf, type StoredEntry } from './storage.ts'
import { signerOf } from './open-signer.ts'
import type { Signer } from './signer.ts'
import type { ReservedAuthorization } from './authorization-state.ts'
import type { openSpending } from './spending.ts'
import { compareQuote, decodeQuote, type DecodedQuote, type ExpectedTerms } from './quote.ts'
import { fetchKeySet, keySetUrl, purchasedReceipt, verifyPurchase } from './verify-purchase.ts'

interface PurchaseTask {
  request: PurchaseRequest
  entry: StoredEntry
  key: `0x${string}` | Signer
  /** Throws or rejects if the quote must not be signed. */
  approve: (quote: DecodedQuote) => void | Promise<void>
  /** Limits what may still be signed. Checked after `approve`. */
  allowance?: { left: number } | undefined
  /** Limits the spending of a day. */
  reserve?: ReturnType<typeof openSpending> | undefined
  /** `ignore`: does not verify the receipt, and does not fetch the key set. */
  receipts: 'verify' | 'ignore'
  runtime: BuyerRuntime
}

export interface BoughtAnswer extends PurchaseAnswer {
  /**
   * `valid`: the service signed the receipt for this answer, request and payment. `missing`: the answer has no receipt,
   * for example because it was not paid. `unchecked`: the key set could not be read, or receipts are ignored; the
   * command `verify` can check the file later.
   */
  receipt: 'valid' | 'missing' | 'unchecked'
  /** False if the service asked for no payment. */
  isPaymentSent: boolean
}

/**
 * Returns the bought answer or the refusal.
 * @throws PurchaseError if the file belongs to another request, if no answer to the payment arrives, or if the receipt
 * is wrong; the error of `approve`; the error of `fetch` before a payment is signed
 */
export async function buyIntoFile(task: PurchaseTask): Promise<BoughtAnswer> {
  const { request, entry, key, approve, allowance, reserve, runtime } = task
  const saved = await findPurchase(entry)
  if (saved) return completePurchase(task, saved)

  const unpaid = await sendRequest(runtime, request)
  if (unpaid.status !== 402 || unpaid.paymentRequired === null)
    return { ...unpaid, receipt: 'missing', isPaymentSent: false }
  const quote = decodeQuote(unpaid.paymentRequired)
  await approve(quote)

  const amount = Number(quote.requirements.amount)
  const signer = await signerOf(key)
  if (allowance) {
    if (amount > allowance.left)
      throw new PurchaseError('allowance_used', 'More would be paid than was announced. Nothing was signed')
    allowance.left -= amount
  }
  const reserveAmount =
    reserve && ((authorization: ReservedAuthorization) => reserve({ purchase: entry.name, amount, authorization }))
  const purchase = await signPurchase(request, quote, { signer, now: runtime.now(), reserve: reserveAmount })
  // If several calls run at once, one creates the file, and all of them send the payment in it.
  const isCreated = await createPurchase(entry, purchase)
  return completePurchase(task, isCreated ? purchase : await readPurchase(entry))
}

/** Sends the payment of a purchase that is on disk. Throws as {@link buyIntoFile}. */
export async function completePurchase(
  task: Pick<PurchaseTask, 'request' | 'entry' | 'receipts' | 'runtime'>,
  saved: Purchase,
): Promise<BoughtAnswer> {
  const { request, entry, runtime } = task
  const file = locationOf(entry)
  if (!isSameRequest(saved.request, request))
    throw new PurchaseError('purchase_unreadable', `${file} is the purchase of another request`, { file })
  const purchase = { ...saved, request }
  const answer = await sendPayment(runtime, entry, purchase).catch((cause: unknown) => {
    if (cause instanceof PurchaseError) throw cause
    const message = 'No answer to the payment arrived, or it could not be saved'
    throw new PurchaseError('outcome_unknown', message, { file, cause })
  })
  const receipt = await checkReceipt(task, { ...purchase, answer: toSaved(answer) })
  return { ...answer, receipt, isPaymentSent: true }
}

/** Headers may differ, such as those for tracing. */
function isSameRequest(one: PurchaseRequest, other: PurchaseRequest): boolean {
  return one.method === other.method && one.url === other.url && one.body === other.body
}

/** @throws if the receipt is wrong */
export async function checkReceipt(
  { entry, receipts, runtime: { fetch } }: Pick<PurchaseTask, 'entry' | 'receipts' | 'runtime'>,
  purchase: Purchase,
): Promise<BoughtAnswer['receipt']> {
  if (purchasedReceipt(purchase) === undefined) return 'missing'
  if (receipts === 'ignore') return 'unchecked'
  const file = locationOf(entry)
  const failure = (text: string) => new PurchaseError('receipt_invalid', `${text}. The answer is in ${file}`, { file })
  const url = keySetUrl(purchase)
  if (url === undefined) throw failure('The receipt names another service')
  const keySet = await fetchKeySet(fetch, url).catch(() => undefined)
  if (keySet === undefined) return 'unchecked'
  const { checks } = await verifyPurchase(purchase, keySet)
  const wrong = checks.flatMap(({ name, passed }) => (passed ? [] : name))
  if (wrong.length > 0) throw failure(`The receipt is wrong: ${wrong.join(', ')}`)
  return 'valid'
}

/** @throws if the quote has other terms than the expected ones */
export function requireTerms(quote: DecodedQuote, expected: ExpectedTerms): void {
  const wrong = compareQuote(quote, expected).flatMap(({ name, passed }) => (passed ? [] : name))
  if (wrong.length === 0) return
  throw new PurchaseError('quote_unexpected', `The quote has an unexpected ${wrong.join(', ')}. Nothing was signed`)
}
