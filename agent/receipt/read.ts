/** Reads the receipt from a `PAYMENT-RESPONSE` header, and the answer from the body of a response over any transport. */
import { decodeJwt } from 'jose'
import { z } from 'zod'
import { parseStrictJson } from '../operation/strict-json.ts'
import { jsonDigest, RECEIPT_EXTENSION } from './claims.ts'

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
  const bytes = Buffer.from(header, 'base64')
  // A decoder skips other characters and unused bits, so without this check several texts give the same bytes.
  if (bytes.toString('base64') !== header) return undefined
  const json = parseStrictJson(bytes)
  return json.kind === 'valid' ? settlementResponseSchema.safeParse(json.value).data : undefined
}

export function receiptOf({ extensions }: SettlementResponse): string {
  return extensions[RECEIPT_EXTENSION].info.receipt
}

/** The issuer that a receipt names. The signature is not verified, so anyone can have written this text. */
export function statedIssuer(receipt: string): string | undefined {
  try {
    const { iss } = decodeJwt(receipt)
    return iss !== undefined && /^https?:\/\/[!-~]+$/.test(iss) && URL.canParse(iss) ? iss : undefined
  } catch {
    return undefined
  }
}

const rpcMembers = { jsonrpc: z.literal('2.0'), id: z.union([z.string(), z.number(), z.null()]) }

/** Strict, because no digest covers the members around the answer: forged data must not stand beside a genuine answer. */
const overA2a = z.strictObject({
  ...rpcMembers,
  result: z.strictObject({
    message: z.strictObject({
      messageId: z.string(),
      role: z.literal('ROLE_AGENT'),
      parts: z.tuple([z.strictObject({ data: z.unknown(), mediaType: z.literal('application/json') })]),
    }),
  }),
})

/** Strict for the same reason. `_meta` has the settlement response. */
const overMcp = z.strictObject({
  ...rpcMembers,
  result: z.strictObject({
    content: z.tuple([z.strictObject({ type: z.literal('text'), text: z.string() })]),
    structuredContent: z.unknown(),
    _meta: z.unknown().optional(),
  }),
})

/**
 * The answer in the body of a response (contract 5.9.2). Undefined if the body is not JSON or repeats a member name, or if the
 * text of an MCP result differs from its `structuredContent`.
 */
export function readAnswer(body: string): unknown {
  const value = parseText(body)
  const a2a = overA2a.safeParse(value).data
  if (a2a) return a2a.result.message.parts[0].data
  const mcp = overMcp.safeParse(value).data?.result
  if (!mcp) return value
  const { content, structuredContent } = mcp
  return isSameJson(parseText(content[0].text), structuredContent) ? structuredContent : undefined
}

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
