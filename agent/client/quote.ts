/** Decodes a quote and compares it with the terms that the buyer expects, before anything is signed. */
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import type { PaymentRequired, PaymentRequirements } from '@x402/core/types'
import { z } from 'zod'
import { resourceUrl, ROUTES } from '../operation/resource.ts'
import type { Operation } from '../operation/schema.ts'

export const MICRO_USDC_PER_USDC = 1_000_000

/** A longer authorization could still be settled after the buyer has stopped waiting. */
const LIFETIME_SECONDS_MAX = 600

/** The members of `/api/v1/meta` that the client reads (contract 2.9). */
export const accessSchema = z.object({
  network: z.string(),
  asset: z.string(),
  pay_to: z.string(),
  endpoint_prices: z.record(z.string(), z.int()),
})

export type Access = z.infer<typeof accessSchema>

export interface DecodedQuote {
  required: PaymentRequired
  requirements: PaymentRequirements
}

/** @throws if the header is not an x402 v2 quote */
export function decodeQuote(header: string): DecodedQuote {
  const required = PaymentRequiredV2Schema.parse(decodePaymentRequiredHeader(header)) as PaymentRequired
  const [requirements] = required.accepts
  if (!requirements) throw new Error('The quote accepts no payment')
  return { required, requirements }
}

/** The terms that a quote must have before the buyer signs it. */
export interface ExpectedTerms {
  /** The URL of the REST resource. */
  resource: string
  network: string
  asset: string
  payTo: string
  /** Micro-USDC, decimal digits. */
  amount: string
}

/** The terms that the service publishes for an operation. */
export function publishedTerms(baseUrl: string, operation: Operation, access: Access): ExpectedTerms {
  const { network, asset, pay_to: payTo, endpoint_prices } = access
  const amount = String(endpoint_prices[ROUTES[operation.operation].path])
  return { resource: resourceUrl(baseUrl, operation), network, asset, payTo, amount }
}

/** Compares a quote with given terms: host, resource, network, asset, receiver, amount and expiry. */
export function compareQuote({ required, requirements }: DecodedQuote, expected: ExpectedTerms) {
  const quoted = URL.canParse(required.resource.url) ? new URL(required.resource.url) : undefined
  const asked = new URL(expected.resource)
  const resource = quoted ? pathOf(quoted) : 'unreadable'
  const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
  return [
    { name: 'host', value: quoted?.origin ?? 'unreadable', passed: quoted?.origin === asked.origin },
    { name: 'resource', value: resource, passed: resource === pathOf(asked) },
    { name: 'network', value: requirements.network, passed: requirements.network === expected.network },
    { name: 'asset', value: requirements.asset, passed: isSame(requirements.asset, expected.asset) },
    { name: 'receiver', value: requirements.payTo, passed: isSame(requirements.payTo, expected.payTo) },
    {
      name: 'amount',
      value: `${requirements.amount} micro-USDC (${Number(requirements.amount) / MICRO_USDC_PER_USDC} USDC)`,
      passed: requirements.amount === expected.amount,
    },
    {
      name: 'expiry',
      value: `${requirements.maxTimeoutSeconds} s after signing`,
      passed: requirements.maxTimeoutSeconds > 0 && requirements.maxTimeoutSeconds <= LIFETIME_SECONDS_MAX,
    },
  ]
}

function pathOf({ pathname, search, hash }: URL): string {
  return `${pathname}${search}${hash}`
}
