/**
 * One purchase in one call, for other programmes: it checks the quote, signs once, keeps the payment before sending it,
 * and repeats the identical request with it for as long as the outcome is open. The purchase is known by its file: called
 * again, after a crash or a lost answer, it sends the payment that is in there and signs nothing.
 */
import { isDeepStrictEqual } from 'node:util'
import { setTimeout } from 'node:timers/promises'
import { pay, send, signQuote, type Answer, type Wire } from './buy.ts'
import { createPurchase, findPurchase, readPurchase, type Purchase } from './purchase-file.ts'
import { compareQuote, readQuote, type ExpectedTerms } from './quote.ts'

const WIRE: Wire = { fetch: globalThis.fetch, sleep: (milliseconds) => setTimeout(milliseconds) }

export interface PurchaseOrder {
  request: { method?: 'GET' | 'POST'; url: string; headers?: Record<string, string>; body?: string }
  /** What the quote must say, word for word, or nothing is signed. The resource is the request's URL unless given. */
  expected: Omit<ExpectedTerms, 'resource'> & { resource?: string }
  privateKey: `0x${string}`
  /** Where the purchase is kept: one file for each thing that is bought. Whoever has it can fetch the answer. */
  file: string
  wire?: Wire
}

/**
 * The bought answer, or the refusal. Throws when the quote is not the expected one, when the file is another request's,
 * and when no answer arrives at all; then the same call again is safe.
 */
export async function buyOnce({ request, expected, privateKey, file, wire = WIRE }: PurchaseOrder): Promise<Answer> {
  const { method = 'GET', url, headers = {}, body = null } = request
  const whole = { method, url, headers, body }
  const kept = await findPurchase(file)
  if (kept) return repeat(wire, file, kept, whole)

  const unpaid = await send(wire, whole)
  if (unpaid.status !== 402 || unpaid.paymentRequired === null) return unpaid
  const quote = readQuote(unpaid.paymentRequired)
  const wrong = compareQuote(quote, { resource: url, ...expected }).filter(({ holds }) => !holds)
  if (wrong.length > 0) throw new Error(`The quote has another ${wrong.map(({ name }) => name).join(', ')}`)

  const payment = await signQuote(quote, privateKey)
  const signed_at = new Date().toISOString()
  const purchase: Purchase = { request: whole, payment, quote: { ...quote.required }, signed_at, answer: null }
  // Of two calls at the same moment one keeps its payment, and both send that one.
  if (await createPurchase(file, purchase)) return pay(wire, file, purchase)
  return repeat(wire, file, await readPurchase(file), whole)
}

function repeat(wire: Wire, file: string, kept: Purchase, request: Purchase['request']): Promise<Answer> {
  if (!isDeepStrictEqual(kept.request, request)) throw new Error(`${file}: is the purchase of another request`)
  return pay(wire, file, kept)
}
