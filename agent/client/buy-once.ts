/**
 * One purchase in one call, for other programs. The file identifies the purchase: a later call with the same file, also
 * after a crash or a lost answer, sends the saved payment again and signs nothing.
 */
import { isDeepStrictEqual } from 'node:util'
import { setTimeout } from 'node:timers/promises'
import { sendPayment, sendRequest, signPurchase, toSaved, type BuyerRuntime, type PurchaseAnswer } from './buy.ts'
import { z } from 'zod'
import { fetchDocument } from './bounded-fetch.ts'
import { createPurchase, findPurchase, readPurchase, type Purchase } from './purchase-file.ts'
import { compareQuote, decodeQuote, type ExpectedTerms } from './quote.ts'
import { keySetUrl, purchasedReceipt, verifyPurchase } from './verify-purchase.ts'

const RUNTIME: BuyerRuntime = { fetch: globalThis.fetch, sleep: (milliseconds) => setTimeout(milliseconds) }

export interface BuyOnceOptions {
  request: { method?: 'GET' | 'POST'; url: string; headers?: Record<string, string>; body?: string }
  /** The terms that the quote must have; otherwise nothing is signed. `resource` defaults to the URL of the request. */
  expected: Omit<ExpectedTerms, 'resource'> & { resource?: string }
  privateKey: `0x${string}`
  /** The file of this purchase. Keep it secret: anyone who has it can fetch the answer. */
  file: string
  /** `ignore`: does not verify the receipt, and does not fetch the key set. */
  receipts?: 'verify' | 'ignore'
  runtime?: BuyerRuntime
}

export interface BoughtAnswer extends PurchaseAnswer {
  /**
   * `valid`: the signed receipt fits answer, request and payment. `missing`: the answer has none, as every answer that was not
   * paid. `unchecked`: the key set could not be read, or receipts are ignored; the command `verify` can check the file later.
   */
  receipt: 'valid' | 'missing' | 'unchecked'
}

/**
 * Returns the bought answer or the refusal.
 * @throws if the quote differs from `expected`, if the file belongs to another request, if no answer arrives, or if the
 *   receipt is wrong. The same call can then be repeated without a second charge
 */
export async function buyOnce(options: BuyOnceOptions): Promise<BoughtAnswer> {
  const { expected, privateKey, file, runtime = RUNTIME } = options
  const { method = 'GET', url, headers = {}, body = null } = options.request
  const request = { method, url, headers, body }
  const send = async (purchase: Purchase) => {
    const answer = await sendPayment(runtime, file, purchase)
    return { ...answer, receipt: await checkReceipt(options, { ...purchase, answer: toSaved(answer) }) }
  }
  const repeat = (saved: Purchase) => {
    if (!isDeepStrictEqual(saved.request, request)) throw new Error(`${file} is the purchase of another request`)
    return send(saved)
  }
  const saved = await findPurchase(file)
  if (saved) return repeat(saved)

  const unpaid = await sendRequest(runtime, request)
  if (unpaid.status !== 402 || unpaid.paymentRequired === null) return { ...unpaid, receipt: 'missing' }
  const quote = decodeQuote(unpaid.paymentRequired)
  const wrong = compareQuote(quote, { resource: url, ...expected }).flatMap(({ name, passed }) => (passed ? [] : name))
  if (wrong.length > 0) throw new Error(`The quote has an unexpected ${wrong.join(', ')}. Nothing was signed`)

  const purchase = await signPurchase(request, quote, { privateKey, now: new Date() })
  // If several calls run at once, one creates the file, and all of them send the payment in it.
  if (await createPurchase(file, purchase)) return send(purchase)
  return repeat(await readPurchase(file))
}

async function checkReceipt(
  { file, receipts = 'verify', runtime: { fetch } = RUNTIME }: BuyOnceOptions,
  purchase: Purchase,
): Promise<BoughtAnswer['receipt']> {
  if (purchasedReceipt(purchase) === undefined) return 'missing'
  if (receipts === 'ignore') return 'unchecked'
  const url = keySetUrl(purchase)
  if (url === undefined) throw new Error(`The receipt names another service. The answer is in ${file}`)
  const keySet = await fetchDocument(fetch, url, z.unknown()).catch(() => undefined)
  if (keySet === undefined) return 'unchecked'
  const { checks } = await verifyPurchase(purchase, keySet)
  const wrong = checks.flatMap(({ name, passed }) => (passed ? [] : name))
  if (wrong.length > 0) throw new Error(`The receipt is wrong: ${wrong.join(', ')}. The answer is in ${file}`)
  return 'valid'
}
