/** What the documents are told of the deployment they describe; all of it is known at start. */
import { ROUTES } from '../../agent/operation/resource.ts'
import type { OperationName } from '../../agent/operation/schema.ts'
import type { Terms } from '../../agent/payments/terms.ts'

export interface Deployment {
  baseUrl: string
  version: string
  terms: Terms
  onSale: readonly OperationName[]
  rateLimitPerMinute: number
  a2aEnabled: boolean
  /** How long a stored answer is kept. */
  retentionDays: number
  /** The payment extension's URI, a place in the HTML guide. */
  extensionUri: string
  /** Whom to ask; the documents name nobody without it. */
  contactEmail?: string | undefined
}

/** What a request costs, to whom, and how many there may be: `access` of the metadata (spec 2.9). */
export function accessOf({
  terms,
  onSale,
  rateLimitPerMinute,
}: Pick<Deployment, 'terms' | 'onSale' | 'rateLimitPerMinute'>) {
  return {
    mode: terms.mode,
    network: terms.network,
    asset: terms.asset,
    pay_to: terms.payTo,
    payment_required: true,
    price_micro_usdc: terms.prices.lookup,
    endpoint_prices: Object.fromEntries(onSale.map((name) => [ROUTES[name].path, terms.prices[name]])),
    limit_scope: 'shared_origin_service',
    lookup_limit_per_minute: rateLimitPerMinute,
  }
}

/** Micro-USDC as people and listers write a price: `0.001`. */
export function inDollars(microUsdc: number): string {
  return (microUsdc / 1_000_000).toFixed(6).replace(/0+$/, '').replace(/\.$/, '')
}
