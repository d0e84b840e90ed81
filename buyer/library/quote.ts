/** Decodes a quote and compares it with the terms that the buyer expects, before anything is signed. */
import type { PaymentRequired, PaymentRequirements } from '@x402/core/types'
import * as z from 'zod'
import { decodeBase64 } from '../../base/base64.ts'
import { canonicalJson, sha256Hex } from '../../base/canonical.ts'
import { isSameAddress } from '../../agent/payment/accounts.ts'
import { FREE_PATHS } from '../../agent/operation/endpoints.ts'
import { SINGLE_OPERATIONS } from '../../agent/operation/operations.ts'
import type { Mode } from '../../agent/payment/terms.ts'
import { fetchDocument, type Fetch } from '../../base/bounded-fetch.ts'
import { parseJson } from '../../base/read-body.ts'
import { parseDocument } from '../../base/strict-json.ts'
import { failWith, PurchaseError } from './purchase-error.ts'
import type { BuyerStorage } from './storage.ts'

/** A longer authorization could still be settled after the buyer has stopped waiting. */
const LIFETIME_SECONDS_MAX = 600

const receiverSchema = z.object({ access: z.object({ pay_to: z.string() }) })

/** The receiver that a service publishes (contract 2.9). Network and asset are not taken from the service. */
export async function fetchReceiver(fetch: Fetch, baseUrl: string): Promise<string> {
  const { access } = await fetchDocument(fetch, `${baseUrl}${FREE_PATHS.metadata}`, receiverSchema)
  return access.pay_to
}

const pinSchema = z.strictObject({ url: z.string(), network: z.string(), pay_to: z.string() })

/**
 * The receiver that was published when the storage was used first: a service that is taken over gets no payment.
 * @throws if the receiver is not known yet and the service does not answer
 */
export async function pinReceiver(
  storage: BuyerStorage,
  { url, network, fetch }: { url: string; network: string; fetch: Fetch },
): Promise<string> {
  const name = `receiver-${sha256Hex(`${network} ${url}`)}.json`
  const text = await storage.read(name)
  if (text === undefined) {
    const pay_to = await fetchReceiver(fetch, url).catch(failWith('service_unreachable'))
    // Of several processes one creates the entry.
    if (await storage.create(name, `${JSON.stringify({ url, network, pay_to })}\n`)) return pay_to
  }
  const pin = pinSchema.safeParse(parseJson(text ?? (await storage.read(name)) ?? '')).data
  if (pin) return pin.pay_to
  throw new PurchaseError('purchase_unreadable', `${storage.locate(name)} is damaged. Nothing was signed`)
}

export interface DecodedQuote {
  required: PaymentRequired
  requirements: PaymentRequirements
}

const record = z.record(z.string(), z.unknown())

/** The members of x402 v2 that are signed or compared. The payment repeats the others as they are. */
const requirementsSchema = z.looseObject({
  scheme: z.string(),
  network: z.string(),
  asset: z.string(),
  amount: z.string(),
  payTo: z.string(),
  maxTimeoutSeconds: z.int(),
  extra: record.nullish(),
})

const requiredSchema = z.looseObject({
  x402Version: z.literal(2),
  resource: z.looseObject({ url: z.string() }),
  accepts: z.tuple([requirementsSchema], z.unknown()),
  extensions: record.nullish(),
})

/** @throws if the header is not an x402 v2 quote */
export function decodeQuote(header: string): DecodedQuote {
  const bytes = decodeBase64(header)
  const required = requiredSchema.safeParse(bytes && parseDocument(bytes)).data
  if (required) return { required, requirements: required.accepts[0] } as DecodedQuote
  throw new PurchaseError('quote_unexpected', 'The quote is not a valid x402 v2 quote. Nothing was signed')
}

/** The terms that a quote must have before the buyer signs it. */
export interface ExpectedTerms {
  /** The URL of the REST resource. */
  resource: string
  network: string
  asset: string
  /** The EIP-712 domain of the asset. A wrong one could be the domain of another token. */
  domain: { name: string; version: string }
  payTo: string
}

const LIMIT = 'limit'

/** The highest usual price of an answer, in micro-USDC. */
export const highestPrice = (mode: Mode): number => Math.max(...SINGLE_OPERATIONS.map(({ prices }) => prices[mode]))

export interface QuoteCheck {
  name: string
  /** As the quote has it. */
  value: string
  passed: boolean
}

/** Compares a quote with the expected terms, and its amount with the highest one in micro-USDC. */
export function compareQuote(quote: DecodedQuote, expected: ExpectedTerms, amountMax: number): QuoteCheck[] {
  const { required, requirements } = quote
  const quoted = URL.canParse(required.resource.url) ? new URL(required.resource.url) : undefined
  const asked = new URL(expected.resource)
  const resource = quoted ? pathOf(quoted) : 'unreadable'
  return [
    { name: 'host', value: quoted?.origin ?? 'unreadable', passed: quoted?.origin === asked.origin },
    { name: 'resource', value: resource, passed: resource === pathOf(asked) },
    { name: 'scheme', value: requirements.scheme, passed: requirements.scheme === 'exact' },
    { name: 'network', value: requirements.network, passed: requirements.network === expected.network },
    { name: 'asset', value: requirements.asset, passed: isSameAddress(requirements.asset, expected.asset) },
    {
      // Any other member, such as `assetTransferMethod`, could make the library sign another type of message.
      name: 'token',
      value: JSON.stringify(requirements.extra),
      passed: canonicalJson(requirements.extra ?? {}) === canonicalJson(expected.domain),
    },
    { name: 'receiver', value: requirements.payTo, passed: isSameAddress(requirements.payTo, expected.payTo) },
    {
      name: 'expiry',
      value: `${requirements.maxTimeoutSeconds} s after signing`,
      passed: requirements.maxTimeoutSeconds > 0 && requirements.maxTimeoutSeconds <= LIFETIME_SECONDS_MAX,
    },
    // No answer is free, so an amount of 0 is not a price of the service.
    { name: 'amount', value: `${requirements.amount} micro-USDC`, passed: /^[1-9][0-9]*$/.test(requirements.amount) },
    { name: LIMIT, value: `${amountMax} micro-USDC`, passed: !(Number(requirements.amount) > amountMax) },
  ]
}

/** @throws if a check has failed */
export function requireChecks(checks: readonly QuoteCheck[], amountMax: number): void {
  const wrong = checks.flatMap(({ name, passed }) => (passed ? [] : name))
  if (wrong.length === 0) return
  if (wrong.join() === LIMIT)
    throw new PurchaseError('price_above_limit', `The price is above ${amountMax} micro-USDC. Nothing was signed`)
  throw new PurchaseError('quote_unexpected', `The quote has an unexpected ${wrong.join(', ')}. Nothing was signed`)
}

function pathOf({ pathname, search, hash }: URL): string {
  return `${pathname}${search}${hash}`
}
