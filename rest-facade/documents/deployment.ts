/** The values of a deployment that the documents show. */
import type { ExampleInputs } from '../../agent/operation/operations.ts'
import type { Terms } from '../../agent/payment/terms.ts'

export interface DocumentedDeployment {
  baseUrl: string
  version: string
  terms: Terms
  rateLimitPerMinute: number
  a2aEnabled: boolean
  mcpEnabled: boolean
  /** Units a minute of each client address. */
  addressBudget: number
  /** The retention period of stored responses. */
  retentionDays: number
  /** The URI of the payment extension: a section of the HTML guide. */
  extensionUri: string
  /** The contact for questions. Absent if none is configured. */
  contactEmail?: string | undefined
  /** Those of the current dataset. */
  examples: ExampleInputs
  /** Empty without a dataset. */
  statuses: string
  licence: { name: string; url: string }
  /** When security.txt expires. */
  securityTxtExpires: Date
}

/** Formats micro-USDC as a price in US dollars, for example `0.001`. */
export function formatUsd(microUsdc: number): string {
  return String(microUsdc / 1_000_000)
}
