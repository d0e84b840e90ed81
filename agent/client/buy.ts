/**
 * The buyer that stock clients lack: signs once, keeps the payment before sending it, and repeats the identical request
 * with it for as long as the outcome is open. It never signs a second time for one purchase.
 */
import { x402Client } from '@x402/core/client'
import { decodePaymentSignatureHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { privateKeyToAccount } from 'viem/accounts'
import { writePurchase, type Purchase } from './purchase-file.ts'
import type { ReadQuote } from './quote.ts'
import type { PurchaseRequest } from './requests.ts'

/** The answers after which the same payment is to be sent again: limit, gateway, failure, and everything uncertain. */
const REPEAT_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503])
const BOUGHT = 200
const REPEATS_MAX = 6
const WAIT_SECONDS_DEFAULT = 2
const WAIT_SECONDS_MAX = 60
/** Longer than the service takes in the worst case (spec 8: 65 s). */
const TIMEOUT_MS = 75_000

export interface Wire {
  fetch: typeof globalThis.fetch
  sleep: (milliseconds: number) => Promise<void>
}

export interface Answer {
  status: number
  body: string
  paymentRequired: string | null
  paymentResponse: string | null
}

/** Sends a request, with a payment or without. Throws when no answer arrives. */
export async function send(
  { fetch }: Wire,
  request: PurchaseRequest,
  payment?: string,
): Promise<Answer & { retryAfter: number }> {
  const response = await fetch(request.url, {
    method: request.method,
    headers: { ...request.headers, ...(payment !== undefined && { 'PAYMENT-SIGNATURE': payment }) },
    body: request.body,
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  return {
    status: response.status,
    body: await response.text(),
    paymentRequired: response.headers.get('PAYMENT-REQUIRED'),
    paymentResponse: response.headers.get('PAYMENT-RESPONSE'),
    retryAfter: Number(response.headers.get('Retry-After') ?? WAIT_SECONDS_DEFAULT),
  }
}

/** Signs one EIP-3009 authorization for a quote that the caller has checked. */
export async function signQuote({ required, requirements }: ReadQuote, privateKey: `0x${string}`): Promise<string> {
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(privateKey)))
  // Of a quote with several ways to pay, only the one that was checked; the library would choose among all.
  return encodePaymentSignatureHeader(await client.createPaymentPayload({ ...required, accepts: [requirements] }))
}

/** The nonce of a signed payment, which names its purchase. */
export function paymentNonce(payment: string): string {
  const { authorization } = decodePaymentSignatureHeader(payment).payload as { authorization: { nonce: string } }
  return authorization.nonce
}

/**
 * Sends a purchase whose payment is on disk, again where that can help, and keeps the first bought answer beside it.
 * @param path the purchase's file, already written
 */
export async function pay(wire: Wire, path: string, purchase: Purchase): Promise<Answer> {
  const answer = await sendUntilDecided(wire, purchase)
  // What was bought is not given up for a later refusal, nor for another answer to the same payment.
  if (purchase.answer?.status === BOUGHT) return answer
  const { status, body, paymentResponse } = answer
  await writePurchase(path, { ...purchase, answer: { status, body, payment_response: paymentResponse } })
  return answer
}

async function sendUntilDecided(wire: Wire, purchase: Purchase): Promise<Answer> {
  for (let repeats = 0; ; repeats += 1) {
    const isLast = repeats === REPEATS_MAX
    const answer = await send(wire, purchase.request, purchase.payment).catch((cause: unknown) => {
      if (isLast) throw cause
      return undefined
    })
    if (answer && (isLast || !REPEAT_STATUSES.has(answer.status))) return answer
    await wire.sleep(Math.min(answer?.retryAfter || WAIT_SECONDS_DEFAULT, WAIT_SECONDS_MAX) * 1000)
  }
}
