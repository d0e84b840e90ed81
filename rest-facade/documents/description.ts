/** How OpenAPI describes a route: input, answer, and every possible refusal. */
import { isDeepStrictEqual } from 'node:util'
import type * as z from 'zod'
import type { McpError } from '../../agent/transport/mcp/protocol-error.ts'
import { toJsonSchema } from '../../agent/operation/json-schema.ts'
import { WIRE_CODES, type RefusalCode } from '../../agent/operation/refusal.ts'
import { fieldSchema } from '../../agent/operation/result.ts'
import { describeStatus } from '../../agent/operation/statuses.ts'
import { PAYMENT_HEADERS } from '../../agent/payment/terms.ts'
import { base64Of, schemaRef } from './component-schemas.ts'

export interface Description {
  operationId: string
  tag: 'Paid' | 'Agent' | 'Metadata' | 'Documents' | 'Registry'
  summary: string
  description: string
  /** Members of the operation in OpenAPI: its price, parameters and body. */
  request?: object
  /** The bodies of 200 in OpenAPI, by media type. */
  content: Record<string, object>
  /** The headers of 200, besides those of every answer. */
  headers: readonly string[]
  refusals: readonly RefusalCode[]
  /** Refusals that clients should expect although this version does not send them. */
  reserved?: readonly RefusalCode[]
  /** JSON-RPC errors of the protocol. Those with status 200 are described by `content`. */
  protocolErrors?: readonly McpError[]
}

export const ANY_ROUTE = ['method_not_allowed', 'rate_limited', 'internal_error', 'overloaded', ...WIRE_CODES] as const

/** Refusals of every paid request, over REST, A2A and MCP. */
export const SALE = [
  'payment_required',
  'payment_invalid',
  'payment_rejected',
  'payment_failed',
  'payment_replay_conflict',
  'payment_already_settled',
  'dataset_unavailable',
  'dataset_stale',
  'payment_verification_unavailable',
  'clock_wrong',
  'payment_outcome_unknown',
  ...ANY_ROUTE,
] as const

export const BODY = ['body_too_large', 'unsupported_media_type'] as const

export const PAYMENT_PARAMETER = {
  name: PAYMENT_HEADERS.request,
  in: 'header',
  required: false,
  description: 'The payment: base64 of an x402 v2 PaymentPayload, at most 8 KiB. A request without it gets a quote.',
  schema: base64Of('Payment'),
}

export const PAYMENT_REF = { $ref: `#/components/parameters/${PAYMENT_HEADERS.request}` }

/** Each member of the schema as a parameter of path or query. */
export function describeParameters(
  inputSchema: z.ZodType,
  { path = '', statuses = '', example = {} }: { path?: string; statuses?: string; example?: object | undefined },
) {
  const { properties, required = [] } = toJsonSchema(inputSchema, 'input') as {
    properties: Record<string, Record<string, unknown>>
    required?: string[]
  }
  const examples = new Map(Object.entries(example))
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: path.includes(`{${name}}`) ? 'path' : 'query',
    required: required.includes(name),
    description: name === 'status' ? describeStatus(String(description), statuses) : String(description),
    schema:
      schema['enum'] && isDeepStrictEqual(schema['enum'], fieldSchema.options) ? schemaRef('CompanyField') : schema,
    // A list is one parameter whose items are separated by commas.
    explode: schema['type'] === 'array' ? false : undefined,
    example: examples.get(name) as unknown,
  }))
}

/** A free document needs no example, because a client can request it. */
export function jsonContent(schema: string, example?: object) {
  return { 'application/json': { schema: schemaRef(schema), ...(example && { example }) } }
}

export function jsonBody(schema: string, example: object | undefined) {
  return { required: true, content: jsonContent(schema, example) }
}
