/**
 * Reads the receipt from a `PAYMENT-RESPONSE` header, and the answer from the body of a response over any transport.
 */
import { decodeJwt } from 'jose'
import * as z from 'zod'
import { decodeBase64 } from '../../../base/base64.ts'
import { parseStrictJson } from '../../../base/strict-json.ts'
import { paymentExtensionUri } from '../../operation/endpoints.ts'
import { jsonDigest, PAYMENT_RESPONSE_META, RECEIPT_EXTENSION } from './claims.ts'

const settlementResponseSchema = z.object({
  success: z.literal(true),
  transaction: z.string(),
  network: z.string(),
  payer: z.string(),
  amount: z.string(),
  extensions: z.object({ [RECEIPT_EXTENSION]: z.object({ info: z.object({ receipt: z.string() }) }) }),
})

export type SettlementResponse = z.infer<typeof settlementResponseSchema>

/** Undefined if the header is not the base64 of a successful settlement response with a receipt. */
export function readSettlementResponse(header: string): SettlementResponse | undefined {
  const bytes = decodeBase64(header)
  const json = bytes && parseStrictJson(bytes)
  return json?.kind === 'valid' ? settlementResponseSchema.safeParse(json.value).data : undefined
}

export function receiptOf({ extensions }: SettlementResponse): string {
  return extensions[RECEIPT_EXTENSION].info.receipt
}

/**
 * The issuer that a receipt names, which is an origin. The signature is not verified, so anyone can have written this
 * text: a path, a query or a fragment could make a request of another URL than that of a key set.
 */
export function statedIssuer(receipt: string): string | undefined {
  try {
    const { iss } = decodeJwt(receipt)
    return iss !== undefined && /^https?:\/\/[^/?#@\\]+$/.test(iss) && URL.canParse(iss) ? iss : undefined
  } catch {
    return undefined
  }
}

const rpcMembers = { jsonrpc: z.literal('2.0'), id: z.union([z.string(), z.number(), z.null()]) }

/**
 * Strict, because no digest covers the members around the answer: forged data must not stand beside a genuine answer.
 */
const a2aMessage = z.strictObject({
  messageId: z.string(),
  role: z.literal('ROLE_AGENT'),
  parts: z.tuple([z.strictObject({ data: z.unknown(), mediaType: z.literal('application/json') })]),
  metadata: z
    .record(z.string().endsWith(paymentExtensionUri('')), settlementResponseSchema)
    .refine((metadata) => Object.keys(metadata).length === 1)
    .optional(),
})

const overA2a = z.strictObject({ ...rpcMembers, result: z.strictObject({ message: a2aMessage }) })

/** The result of a tool, as an SDK returns it. Strict for the same reason. */
const mcpResult = z.strictObject({
  content: z.tuple([z.strictObject({ type: z.literal('text'), text: z.string() })]),
  structuredContent: z.unknown(),
  isError: z.literal(false).optional(),
  /** A member of MCP 2026-07-28. */
  resultType: z.literal('complete').optional(),
  _meta: z.looseObject({ [PAYMENT_RESPONSE_META]: z.unknown().optional() }).optional(),
})

interface UnwrappedBody {
  /** Undefined if the text of an MCP result differs from its `structuredContent`. */
  answer: unknown
  /** That of an A2A message or an MCP result. REST has it in a header. */
  response?: SettlementResponse | undefined
}

/** Finds the answer in the JSON of a body over REST or A2A, or in the result of an MCP tool (contract 5.9.2). */
export function unwrapBody(value: unknown): UnwrappedBody {
  const a2a = overA2a.safeParse(value).data
  if (a2a) {
    const { parts, metadata = {} } = a2a.result.message
    return { answer: parts[0].data, response: Object.values(metadata)[0] }
  }
  const mcp = mcpResult.safeParse(value).data
  if (!mcp) return { answer: value }
  const { content, structuredContent, _meta } = mcp
  return {
    answer: isSameJson(parseText(content[0].text), structuredContent) ? structuredContent : undefined,
    response: settlementResponseSchema.safeParse(_meta?.[PAYMENT_RESPONSE_META]).data,
  }
}

/** The answer in the body of a response. Undefined if the body has none, is not JSON, or repeats a member name. */
export const readAnswer = (body: string): unknown => unwrapBody(parseText(body)).answer

function parseText(text: string): unknown {
  const json = parseStrictJson(new TextEncoder().encode(text))
  return json.kind === 'valid' ? json.value : undefined
}

function isSameJson(one: unknown, other: unknown): boolean {
  try {
    return jsonDigest(one) === jsonDigest(other)
  } catch {
    return false
  }
}
