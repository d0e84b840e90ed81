/** What is charged, where, and in what: prices and chain constants of both deployments (spec 5, decisions 1). */
import type { PaymentRequirements } from '@x402/core/types'
import type { OperationName } from '../operation/schema.ts'

export type Mode = 'mainnet' | 'testnet'

/** The URI fragment, header names and version of the payment extension, as the card and the guides state them. */
export const PAYMENT_HEADERS = {
  request: 'PAYMENT-SIGNATURE',
  required: 'PAYMENT-REQUIRED',
  response: 'PAYMENT-RESPONSE',
} as const

export const X402_VERSION = 2

/** How long a quote stands, and so how long an authorization may run. */
export const QUOTE_LIFETIME_SECONDS = 300

export interface Deployment {
  network: `eip155:${number}`
  chainId: number
  /** The network's USDC. */
  asset: `0x${string}`
  /** Its EIP-712 domain. */
  domain: { name: string; version: string }
  /** Micro-USDC per operation. */
  prices: Record<OperationName, number>
}

export const DEPLOYMENTS: Record<Mode, Deployment> = {
  mainnet: {
    network: 'eip155:8453',
    chainId: 8453,
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    domain: { name: 'USD Coin', version: '2' },
    prices: { lookup: 10_000, search: 10_000, resolve: 20_000 },
  },
  testnet: {
    network: 'eip155:84532',
    chainId: 84_532,
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    domain: { name: 'USDC', version: '2' },
    prices: { lookup: 1_000, search: 1_000, resolve: 2_000 },
  },
}

/** The terms of one deployment: its constants and who is paid. */
export interface Terms extends Deployment {
  mode: Mode
  payTo: string
}

export function termsOf(mode: Mode, payTo: string): Terms {
  return { mode, payTo, ...DEPLOYMENTS[mode] }
}

/** The one way to pay for an operation. Made from constants alone, so that a quote never depends on a facilitator. */
export function requirementsOf(terms: Terms, operation: OperationName): PaymentRequirements {
  return {
    scheme: 'exact',
    network: terms.network,
    amount: String(terms.prices[operation]),
    asset: terms.asset,
    payTo: terms.payTo,
    maxTimeoutSeconds: QUOTE_LIFETIME_SECONDS,
    extra: { ...terms.domain },
  }
}

/** What follows from terms and operation alone is made once and kept as long as the terms are. */
export function oncePerOperation<T>(make: (terms: Terms, operation: OperationName) => T) {
  const made = new WeakMap<Terms, Map<OperationName, T>>()
  return (terms: Terms, operation: OperationName): T => {
    const known = made.get(terms)?.get(operation)
    if (known !== undefined) return known
    const value = make(terms, operation)
    made.set(terms, new Map([...(made.get(terms) ?? []), [operation, value]]))
    return value
  }
}
