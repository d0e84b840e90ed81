/**
 * Signs a payment once and sends it until the outcome is known. The payment is on disk before it is sent, and no second
 * payment is signed for the same purchase.
 */
import { x402Client } from '@x402/core/client'
import { decodePaymentSignatureHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import type { ClientEvmSigner } from '@x402/evm'
import type { PaymentRequired } from '@x402/core/types'
import { privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import { decodeBase64 } from '../json/base64.ts'
import { PAYMENT_IDENTIFIER } from '../payment/extensions.ts'
import { parseJson } from '../rpc/read-body.ts'
import { fetchText } from './bounded-fetch.ts'
import { isEqualJson } from './equal-json.ts'
import { findPurchase, writePurchase, type Purchase } from './purchase-file.ts'
import type { DecodedQuote } from './quote.ts'
import type { PurchaseRequest } from './purchase-request.ts'
import type { ReservedAuthorization } from './spending.ts'
import type { StoredEntry } from './storage.ts'

/** After these statuses the same payment is sent again: rate limit, server failures, and unknown outcomes. */
export const REPEAT_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503])
const REPEATS_MAX = 6
const RETRY_AFTER_SECONDS_DEFAULT = 2
const RETRY_AFTER_SECONDS_MAX = 60

/** The network and the clock of a buyer. */
export interface BuyerRuntime {
  fetch: typeof globalThis.fetch
  sleep: (milliseconds: number) => Promise<void>
}

export interface PurchaseAnswer {
  status: number
  body: string
  paymentRequired: string | null
  paymentResponse: string | null
}

/**
 * Sends a request, with or without a payment.
 * @throws if no answer arrives
 */
export async function sendRequest(
  { fetch }: BuyerRuntime,
  request: PurchaseRequest,
  payment?: string,
): Promise<PurchaseAnswer & { retryAfterSeconds: number }> {
  const { response, text } = await fetchText(fetch, request.url, {
    method: request.method,
    headers: { ...request.headers, ...(payment !== undefined && { 'PAYMENT-SIGNATURE': payment }) },
    body: request.body,
  })
  return {
    status: response.status,
    body: text,
    paymentRequired: response.headers.get('PAYMENT-REQUIRED'),
    paymentResponse: response.headers.get('PAYMENT-RESPONSE'),
    retryAfterSeconds: parseRetryAfter(response.headers.get('Retry-After')),
  }
}

/** The default if the header is missing or has another form than seconds. */
function parseRetryAfter(header: string | null): number {
  return /^[1-9][0-9]{0,8}$/.test(header ?? '') ? Number(header) : RETRY_AFTER_SECONDS_DEFAULT
}

export interface Signing {
  privateKey: `0x${string}`
  now: Date
  /** Reserves the amount of an authorization before it is signed, and names the reservation. Throws if it must not be signed. */
  reserve?: ((authorization: ReservedAuthorization) => Promise<string>) | undefined
}

/** Signs one EIP-3009 authorization for a quote that the caller has checked. The purchase is not saved yet. */
export async function signPurchase(
  request: PurchaseRequest,
  { required, requirements }: DecodedQuote,
  { privateKey, now, reserve }: Signing,
): Promise<Purchase> {
  const account = privateKeyToAccount(privateKey)
  let reservation: string | undefined
  const signer: ClientEvmSigner = {
    address: account.address,
    async signTypedData(typed) {
      if (reserve) reservation = await reserve(authorizationSchema.parse(typed.message))
      return account.signTypedData(typed)
    },
  }
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(signer))
  // The library chooses among all accepted payments, so it gets only the one that was checked.
  const extensions = withPaymentId(required.extensions)
  const payload = await client.createPaymentPayload({ ...required, extensions, accepts: [requirements] })
  const payment = encodePaymentSignatureHeader(payload)
  const purchase = { request, payment, quote: { ...required }, signed_at: now.toISOString(), answer: null }
  return reservation === undefined ? purchase : { ...purchase, reservation }
}

/** The library passes times as numbers. */
const authorizationSchema = z
  .object({ from: z.string(), nonce: z.string(), validBefore: z.coerce.string() })
  .transform(({ from, nonce, validBefore }): ReservedAuthorization => ({ from, nonce, validBefore }))

/**
 * Adds a random payment id to the extensions of a quote that declares them. Signature and authorization become public on
 * chain; without the id, anyone could rebuild the payment from them and fetch the bought answer.
 */
function withPaymentId(extensions: PaymentRequired['extensions']): Record<string, unknown> {
  const declared = z.looseObject({ info: z.looseObject({}) }).safeParse(extensions?.[PAYMENT_IDENTIFIER]).data
  if (!declared) return { ...extensions }
  return { ...extensions, [PAYMENT_IDENTIFIER]: { ...declared, info: { ...declared.info, id: crypto.randomUUID() } } }
}

const signedPaymentSchema = z.object({
  accepted: z.object({ network: z.string() }),
  payload: z.object({
    authorization: z.object({ from: z.string(), nonce: z.string(), validBefore: z.string().regex(/^[0-9]{1,12}$/) }),
  }),
})

/** The members of the signed payment that identify the purchase and tell how long it can be settled. */
export function readPayment({ payment }: Purchase) {
  const { accepted, payload } = signedPaymentSchema.parse(decodePaymentSignatureHeader(payment))
  const { from, nonce, validBefore } = payload.authorization
  return { network: accepted.network, payer: from, nonce, validBefore: new Date(Number(validBefore) * 1000) }
}

/**
 * Sends a saved purchase, repeats it while the outcome is unknown, and saves the answer.
 * @param entry the file of the purchase, which exists
 */
export async function sendPayment(
  runtime: BuyerRuntime,
  entry: StoredEntry,
  purchase: Purchase,
): Promise<PurchaseAnswer> {
  const answer = await sendUntilKnown(runtime, purchase)
  // Another process may have saved its answer to the same payment in the meantime.
  const { answer: saved } = (await findPurchase(entry)) ?? purchase
  // A later reply never replaces a bought answer, not even another answer to the same payment. It can only add a receipt.
  if (saved?.status === 200 && !addsReceipt(saved, answer)) return answer
  await writePurchase(entry, { ...purchase, answer: toSaved(answer) })
  return answer
}

/** The form of an answer in a purchase file. */
export function toSaved({ status, body, paymentResponse }: PurchaseAnswer): NonNullable<Purchase['answer']> {
  return { status, body, payment_response: paymentResponse }
}

/** Whether a repeated answer has the bytes of the saved one. The saved one may lack the receipt. */
export function isSavedAnswer(saved: NonNullable<Purchase['answer']>, answer: PurchaseAnswer): boolean {
  return isEqualJson(saved, toSaved(answer)) || addsReceipt(saved, answer)
}

/** An answer of an older service gets its receipt at the first repetition. */
function addsReceipt(saved: NonNullable<Purchase['answer']>, answer: PurchaseAnswer): boolean {
  if (saved.status !== answer.status || saved.body !== answer.body) return false
  const [before, after] = [saved.payment_response, answer.paymentResponse].map(decodeSettlement)
  if (!before || !after || 'extensions' in before) return false
  const { extensions, ...rest } = after
  return extensions !== undefined && isEqualJson(rest, before)
}

function decodeSettlement(header: string | null): Record<string, unknown> | undefined {
  const bytes = header === null ? undefined : decodeBase64(header)
  const json = bytes && parseJson(new TextDecoder().decode(bytes))
  return z.record(z.string(), z.unknown()).safeParse(json).data
}

async function sendUntilKnown(runtime: BuyerRuntime, purchase: Purchase): Promise<PurchaseAnswer> {
  for (let repeats = 0; ; repeats += 1) {
    const isLast = repeats === REPEATS_MAX
    const answer = await sendRequest(runtime, purchase.request, purchase.payment).catch((cause: unknown) => {
      if (isLast) throw cause
      return undefined
    })
    if (answer && (isLast || !REPEAT_STATUSES.has(answer.status))) return answer
    const waitSeconds = answer?.retryAfterSeconds ?? RETRY_AFTER_SECONDS_DEFAULT
    await runtime.sleep(Math.min(waitSeconds, RETRY_AFTER_SECONDS_MAX) * 1000)
  }
}
