/** The values of a deployment that the documents show. */
import type { ExampleCompany } from '../../agent/operation/operation.ts'
import type { Terms } from '../../agent/payment/terms.ts'

export interface DocumentedDeployment {
  baseUrl: string
  version: string
  terms: Terms
  rateLimitPerMinute: number
  a2aEnabled: boolean
  /** Units a minute of each client address. */
  addressBudget: number
  /** The retention period of stored responses. */
  retentionDays: number
  /** Of the current dataset. */
  exampleCompany: ExampleCompany | undefined
  /** Empty without a dataset. */
  statuses: string
  licence: { name: string; url: string }
  /** Only in a sandbox: the account that its page can pay with. */
  sandboxAccount?: { address: string } | undefined
}
