/**
 * One purchase in one call, for other programs. The file identifies the purchase: a later call with the same file, also
 * after a crash or a lost answer, sends the saved payment again and signs nothing.
 */
import { isDeepStrictEqual } from 'node:util'
import { setTimeout } from 'node:timers/promises'
import { sendPayment, sendRequest, signPurchase, type BuyerRuntime, type PurchaseAnswer } from './buy.ts'
import { createPurchase, findPurchase, readPurchase, type Purchase } from './purchase-file.ts'
import { compareQuote, decodeQuote, type ExpectedTerms } from './quote.ts'

const RUNTIME: BuyerRuntime = { fetch: globalThis.fetch, sleep: (milliseconds) => setTimeout(milliseconds) }

export interface BuyOnceOptions {
  request: { method?: 'GET' | 'POST'; url: string; headers?: Record<string, string>; body?: string }
  /** The terms that the quote must have; otherwise nothing is signed. `resource` defaults to the URL of the request. */
  expected: Omit<ExpectedTerms, 'resource'> & { resource?: string }
  privateKey: `0x${string}`
  /** The file of this purchase. Keep it secret: anyone who has it can fetch the answer. */
  file: string
  runtime?: BuyerRuntime
}

/**
 * Returns the bought answer or the refusal.
 * @throws if the quote differs from `expected`, if the file belongs to another request, or if no answer arrives. The same
 *   call can then be repeated without a second charge
 */
export async function buyOnce(options: BuyOnceOptions): Promise<PurchaseAnswer> {
  const { expected, privateKey, file, runtime = RUNTIME } = options
  const { method = 'GET', url, headers = {}, body = null } = options.request
  const request = { method, url, headers, body }
  const repeat = (saved: Purchase) => {
    if (!isDeepStrictEqual(saved.request, request)) throw new Error(`${file} is the purchase of another request`)
    return sendPayment(runtime, file, saved)
  }
  const saved = await findPurchase(file)
  if (saved) return repeat(saved)

  const unpaid = await sendRequest(runtime, request)
  if (unpaid.status !== 402 || unpaid.paymentRequired === null) return unpaid
  const quote = decodeQuote(unpaid.paymentRequired)
  const wrong = compareQuote(quote, { resource: url, ...expected }).flatMap(({ name, passed }) => (passed ? [] : name))
  if (wrong.length > 0) throw new Error(`The quote has an unexpected ${wrong.join(', ')}. Nothing was signed`)

  const purchase = await signPurchase(request, quote, { privateKey, now: new Date() })
  // If several calls run at once, one creates the file, and all of them send the payment in it.
  if (await createPurchase(file, purchase)) return sendPayment(runtime, file, purchase)
  return repeat(await readPurchase(file))
}
