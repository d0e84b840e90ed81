/** Example requests and responses for the documents: quotes, A2A and MCP messages, and every refusal. */
import { SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import type { McpError } from '../../agent/transport/mcp/protocol-error.ts'
import { isDataError, refusalBody, type RefusalCode } from '../../agent/operation/refusal.ts'
import { firstExample, toNamed, type ExampleCompany } from '../../agent/operation/operation.ts'
import { paymentExtensionUri } from '../../agent/operation/endpoints.ts'
import { resourceUrl } from '../../agent/operation/resource.ts'
import type { QuoteReason } from '../../agent/operation/outcome.ts'
import { buildQuote } from '../../agent/payment/quote.ts'
import { RECEIPT_EXTENSION } from '../../agent/payment/receipt/claims.ts'
import type { Terms } from '../../agent/payment/terms.ts'

/** The values of a deployment that the documents show. */
export interface DocumentedDeployment {
  baseUrl: string
  version: string
  terms: Terms
  rateLimitPerMinute: number
  a2aEnabled: boolean
  /** Units of work that a client address has each minute. */
  addressBudget: number
  /** The retention period of stored responses. */
  retentionDays: number
  /** Of the current dataset, or a made-up one without a dataset. */
  exampleCompany: ExampleCompany
  /** A few of the current dataset. */
  exampleCompanies: readonly Pick<ExampleCompany, 'company_number' | 'legal_name'>[]
  /** Empty without a dataset. */
  statuses: string
  licence: { name: string; url: string }
  /** Whether the companies of the dataset are made up. */
  isMadeUp: boolean
  /** Only in a sandbox: the account that its page can pay with. */
  sandboxAccount?: { address: string } | undefined
  /** Who runs the service. */
  operator?: { name: string; url: string } | undefined
}

export function exampleQuote(deployment: DocumentedDeployment, reason: QuoteReason) {
  const { baseUrl, terms, exampleCompany } = deployment
  const operation = firstExample(terms.operations, exampleCompany)
  const url = resourceUrl(baseUrl, operation)
  const quote = buildQuote({ terms, operation, url, reason })
  return JSON.parse(quote.json) as Record<string, unknown>
}

/** The quote without its extensions, which are long. */
function shortQuote(deployment: DocumentedDeployment, reason: QuoteReason) {
  const { extensions: _, ...quote } = exampleQuote(deployment, reason)
  return quote
}

/** The reason in the quote of each refusal with status 402. */
const REASONS: Partial<Record<RefusalCode, QuoteReason>> = {
  payment_required: 'Payment is required',
  payment_invalid: 'invalid_payload',
  payment_rejected: 'insufficient_funds',
  payment_failed: 'settlement_refused',
}

export function exampleRefusal(deployment: DocumentedDeployment, code: RefusalCode): object {
  const reason = REASONS[code]
  const provenance = isDataError(code) && { provenance: SYNTHETIC_PROVENANCE }
  const body = refusalBody({ code, ...provenance, ...(reason && { reason }) })
  return reason === undefined ? body : { ...shortQuote(deployment, reason), ...body }
}

/** An A2A request for the first example. */
export function exampleRpcRequest({ terms, exampleCompany }: DocumentedDeployment): object {
  const data = toNamed(firstExample(terms.operations, exampleCompany))
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ data }] }
  return { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
}

export function exampleRpcAnswer({ baseUrl, terms, exampleCompany }: DocumentedDeployment): object {
  const { definition } = firstExample(terms.operations, exampleCompany)
  const data = definition.exampleAnswer(terms.mode)
  const settlement = { success: true, transaction: '0x...', network: terms.network, payer: '0x...' }
  const extensions = { [RECEIPT_EXTENSION]: { info: { receipt: 'eyJ...' } } }
  const message = {
    messageId: '8f14e45f-ceea-467f-a8f1-0c2f5f7f2b1c',
    role: 'ROLE_AGENT',
    parts: [{ data, mediaType: 'application/json' }],
    metadata: { [paymentExtensionUri(baseUrl)]: { ...settlement, extensions } },
  }
  return { jsonrpc: '2.0', id: 1, result: { message } }
}

export function exampleMcpRequest({ terms, exampleCompany }: DocumentedDeployment): object {
  const { definition, input } = firstExample(terms.operations, exampleCompany)
  const params = { name: definition.tool.name, arguments: input }
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
}

export function exampleMcpError({ code, message }: McpError): object {
  return { jsonrpc: '2.0', id: 1, error: { code, message } }
}
