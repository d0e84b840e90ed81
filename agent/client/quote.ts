/** Reads a quote, says it in plain words, and checks it against what the service publishes before anything is signed. */
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import type { PaymentRequired, PaymentRequirements } from '@x402/core/types'
import { z } from 'zod'
import { resourceUrl, ROUTES } from '../operation/resource.ts'
import type { Operation } from '../operation/schema.ts'

/** An authorization that runs longer than this is a blank cheque. */
const LIFETIME_SECONDS_MAX = 600

/** What the client needs of `/api/v1/meta` (spec 2.9). */
export const accessSchema = z.object({
  network: z.string(),
  asset: z.string(),
  pay_to: z.string(),
  endpoint_prices: z.record(z.string(), z.int()),
})

export type Access = z.infer<typeof accessSchema>

export interface ReadQuote {
  required: PaymentRequired
  requirements: PaymentRequirements
}

/** Throws unless the header is an x402 v2 quote. */
export function readQuote(header: string): ReadQuote {
  const required = PaymentRequiredV2Schema.parse(decodePaymentRequiredHeader(header)) as PaymentRequired
  const [requirements] = required.accepts
  if (!requirements) throw new Error('The quote accepts no payment')
  return { required, requirements }
}

export interface QuoteCheck {
  name: string
  value: string
  holds: boolean
}

/** What the quote is held against: what was asked of which service, and what that service publishes. */
export interface Expected {
  baseUrl: string
  operation: Operation
  access: Access
}

/** The only terms that a buyer will sign for. */
export interface ExpectedTerms {
  /** The REST resource that is bought. */
  resource: string
  network: string
  asset: string
  payTo: string
  /** Micro-USDC, in digits. */
  amount: string
}

/** One line each for host, resource, network, asset, receiver, amount and expiry. */
export function checkQuote(quote: ReadQuote, { baseUrl, operation, access }: Expected): QuoteCheck[] {
  const { network, asset, pay_to: payTo, endpoint_prices } = access
  const amount = String(endpoint_prices[ROUTES[operation.operation].path])
  return compareQuote(quote, { resource: resourceUrl(baseUrl, operation), network, asset, payTo, amount })
}

/** The same for a buyer who knows the terms himself. */
export function compareQuote({ required, requirements }: ReadQuote, expected: ExpectedTerms): QuoteCheck[] {
  const quoted = URL.canParse(required.resource.url) ? new URL(required.resource.url) : undefined
  const asked = new URL(expected.resource)
  const resource = quoted ? pathOf(quoted) : 'unreadable'
  const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
  return [
    { name: 'host', value: quoted?.origin ?? 'unreadable', holds: quoted?.origin === asked.origin },
    { name: 'resource', value: resource, holds: resource === pathOf(asked) },
    { name: 'network', value: requirements.network, holds: requirements.network === expected.network },
    { name: 'asset', value: requirements.asset, holds: isSame(requirements.asset, expected.asset) },
    { name: 'receiver', value: requirements.payTo, holds: isSame(requirements.payTo, expected.payTo) },
    {
      name: 'amount',
      value: `${requirements.amount} micro-USDC (${Number(requirements.amount) / 1e6} USDC)`,
      holds: requirements.amount === expected.amount,
    },
    {
      name: 'expiry',
      value: `${requirements.maxTimeoutSeconds} s after signing`,
      holds: requirements.maxTimeoutSeconds > 0 && requirements.maxTimeoutSeconds <= LIFETIME_SECONDS_MAX,
    },
  ]
}

function pathOf({ pathname, search, hash }: URL): string {
  return `${pathname}${search}${hash}`
}
