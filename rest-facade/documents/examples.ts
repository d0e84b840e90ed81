/** Example requests and responses for the documents: quotes, A2A and MCP messages, and every refusal. */
import { SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import { MCP_ERRORS, type McpError } from '../../agent/transport/mcp/protocol-error.ts'
import { isDataError, refusalBody, type RefusalCode } from '../../agent/operation/refusal.ts'
import { firstExample, toNamed, type ExampleCompany } from '../../agent/operation/operation.ts'
import { resourceUrl } from '../../agent/operation/resource.ts'
import type { QuoteReason } from '../../agent/operation/outcome.ts'
import { buildQuote } from '../../agent/payment/quote.ts'
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
  /** Of the current dataset. */
  exampleCompany: ExampleCompany | undefined
  /** A few numbers of the current dataset. */
  exampleNumbers: readonly string[]
  /** Empty without a dataset. */
  statuses: string
  licence: { name: string; url: string }
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

/** The reason in the quote of each refusal with status 402. */
const REASONS: Partial<Record<RefusalCode, QuoteReason>> = {
  payment_required: 'Payment is required',
  payment_invalid: 'invalid_payload',
  payment_rejected: 'insufficient_funds',
  payment_failed: 'settlement_refused',
}

export function exampleRefusal(deployment: DocumentedDeployment, code: RefusalCode): object {
  const body = refusalBody({ code, ...(isDataError(code) && { provenance: SYNTHETIC_PROVENANCE }) })
  const reason = REASONS[code]
  return reason === undefined ? body : { ...body, payment_required: exampleQuote(deployment, reason) }
}

/** A2A requests: the first example input of each operation, and a question in words. */
export function exampleRpcRequests({ terms, exampleCompany }: DocumentedDeployment): Record<string, object> {
  const calls = terms.operations.flatMap((definition): [string, object][] => {
    const [input] = definition.examples(exampleCompany)
    return input ? [[definition.name, rpcRequest({ data: toNamed({ definition, input }) })]] : []
  })
  return { ...Object.fromEntries(calls), help: rpcRequest({ text: 'How do I use this agent?' }) }
}

export function exampleRpcAnswers({ terms, exampleCompany }: DocumentedDeployment): Record<string, object> {
  const { definition } = firstExample(terms.operations, exampleCompany)
  const data = definition.exampleAnswer(terms.mode)
  const message = {
    messageId: '8f14e45f-ceea-467f-a8f1-0c2f5f7f2b1c',
    role: 'ROLE_AGENT',
    parts: [{ data, mediaType: 'application/json' }],
  }
  return {
    [definition.name]: { jsonrpc: '2.0', id: 1, result: { message } },
    protocol_error: { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'There is no such method.' } },
  }
}

function rpcRequest(part: object) {
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [part] }
  return { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
}

export function exampleMcpRequests({ terms, exampleCompany }: DocumentedDeployment): Record<string, object> {
  const { definition, input } = firstExample(terms.operations, exampleCompany)
  return {
    list: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    call: { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: definition.tool.name, arguments: input } },
  }
}

export function exampleMcpError({ code, message }: McpError): object {
  return { jsonrpc: '2.0', id: 1, error: { code, message } }
}

export const MCP_ANSWERS = Object.fromEntries(
  MCP_ERRORS.filter(({ statuses }) => statuses.includes(200)).map((error) => [error.code, exampleMcpError(error)]),
)
