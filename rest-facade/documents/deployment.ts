/** The values of a deployment that the documents show. All are known at start. */
import type { ServiceFacts } from './metadata.ts'

export interface DocumentedDeployment extends ServiceFacts {
  baseUrl: string
  a2aEnabled: boolean
  /** The retention period of stored responses. */
  retentionDays: number
  /** The URI of the payment extension: a section of the HTML guide. */
  extensionUri: string
  /** The contact for questions. Absent if none is configured. */
  contactEmail?: string | undefined
}

/** Formats micro-USDC as a price in US dollars, for example `0.001`. */
export function formatUsd(microUsdc: number): string {
  return String(microUsdc / 1_000_000)
}
