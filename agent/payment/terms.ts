/** Prices and chain constants of both deployments, and the x402 payment requirements built from them. */
import type { PaymentRequirements } from '@x402/core/types'
import { SYNTHETIC_EXAMPLE } from '../operation/examples.ts'
import { itemsOf, type ExampleCompany, type Operation, type Operations } from '../operation/operation.ts'

export type Mode = 'mainnet' | 'testnet'

export const PAYMENT_HEADERS = {
  request: 'PAYMENT-SIGNATURE',
  required: 'PAYMENT-REQUIRED',
  response: 'PAYMENT-RESPONSE',
} as const

export const X402_VERSION = 2

export const toUsdc = (microUsdc: number | string): number => Number(microUsdc) / 1_000_000

/** `about a tenth of a US cent`: a USDC is a US dollar. */
export function priceInWords(microUsdc: number): string {
  const cents = microUsdc / 10_000
  if (cents >= 100) return `about ${(cents / 100).toFixed(2)} US dollars`
  if (cents >= 0.95) return `about ${Math.round(cents)} US ${Math.round(cents) === 1 ? 'cent' : 'cents'}`
  const tenths = Math.round(cents * 10)
  return `about ${TENTHS[tenths] ?? `${tenths} tenths`} of a US cent`
}

const TENTHS: Record<number, string> = { 0: 'less than a tenth', 1: 'a tenth', 2: 'a fifth', 5: 'half' }

/** The networks as people and wallets call them. */
export const NETWORK_NAMES: Record<Mode, string> = { mainnet: 'Base', testnet: 'Base Sepolia (test)' }

export const QUOTE_LIFETIME_SECONDS = 300
/** How far the client's clock may be ahead of the service's clock. */
const CLOCK_SKEW_SECONDS_MAX = 60
/** Some clients sign for an hour, whatever the quote says. */
const AUTHORIZATION_SECONDS_MAX = 3_600
/** A payment is accepted at most this long before its `validBefore`. */
export const ACCEPTED_SECONDS_MAX = AUTHORIZATION_SECONDS_MAX + CLOCK_SKEW_SECONDS_MAX
/** The same for a client that follows the quote. */
export const QUOTED_SECONDS_MAX = QUOTE_LIFETIME_SECONDS + CLOCK_SKEW_SECONDS_MAX

export interface NetworkDeployment {
  network: `eip155:${number}`
  chainId: number
  /** The USDC contract. */
  asset: `0x${string}`
  /** The EIP-712 domain of the USDC contract. */
  domain: { name: string; version: string }
}

export const DEPLOYMENTS: Record<Mode, NetworkDeployment> = {
  mainnet: {
    network: 'eip155:8453',
    chainId: 8453,
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    domain: { name: 'USD Coin', version: '2' },
  },
  testnet: {
    network: 'eip155:84532',
    chainId: 84_532,
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    domain: { name: 'USDC', version: '2' },
  },
}

/** The constants of one deployment, the address that is paid, and what is sold. */
export interface Terms extends NetworkDeployment {
  mode: Mode
  payTo: string
  /** In lower case. A payment to one of them buys nothing, but can have been settled earlier. */
  formerReceivers: readonly string[]
  operations: Operations
  /** The company of the examples in quotes: the synthetic one on testnet, on mainnet one of the current dataset. */
  readonly example: ExampleCompany | undefined
}

export function buildTerms(
  mode: Mode,
  payTo: string,
  operations: Operations,
  formerReceivers: readonly string[] = [],
): Terms {
  const example = mode === 'testnet' ? SYNTHETIC_EXAMPLE : undefined
  return { ...DEPLOYMENTS[mode], mode, payTo, formerReceivers, operations, example }
}

/** What an operation costs in micro-USDC: for a batch the sum of its items. */
export function amountOf({ mode }: Pick<Terms, 'mode'>, operation: Operation): number {
  return itemsOf(operation).reduce((sum, { definition }) => sum + definition.prices[mode], 0)
}

/** The only accepted way to pay this amount. Built from constants, so that a quote never depends on a facilitator. */
export function buildRequirements(
  terms: NetworkDeployment & Pick<Terms, 'payTo'>,
  amount: number,
): PaymentRequirements {
  return {
    scheme: 'exact',
    network: terms.network,
    amount: String(amount),
    asset: terms.asset,
    payTo: terms.payTo,
    maxTimeoutSeconds: QUOTE_LIFETIME_SECONDS,
    extra: { ...terms.domain },
  }
}
