/** Finds a receipt and an answer in what a client has kept: a `PAYMENT-RESPONSE` header, a JWT, a body of any transport. */
import { decodeJwt } from 'jose'
import { z } from 'zod'
import { parseStrictJson } from '../operation/strict-json.ts'
import { RECEIPT_EXTENSION } from './claims.ts'

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
  // Decoders skip other characters and unused bits, so two texts would be the same header.
  if (bytes.toString('base64') !== header) return undefined
  const json = parseStrictJson(bytes)
  return json.kind === 'valid' ? settlementResponseSchema.safeParse(json.value).data : undefined
}

export function receiptOf({ extensions }: SettlementResponse): string {
  return extensions[RECEIPT_EXTENSION].info.receipt
}

/** The issuer that an unverified receipt names. It tells where to look for the key set, and proves nothing. */
export function statedIssuer(receipt: string): string | undefined {
  try {
    const { iss } = decodeJwt(receipt)
    return iss !== undefined && /^https?:\/\/[!-~]+$/.test(iss) && URL.canParse(iss) ? iss : undefined
  } catch {
    return undefined
  }
}

const overA2a = z.object({
  result: z.object({ message: z.object({ parts: z.tuple([z.object({ data: z.unknown() })]) }) }),
})
const overMcp = z.object({ result: z.object({ structuredContent: z.unknown() }) })

/** The answer in the text of a body (contract 5.9.2). Undefined if it is not JSON or repeats a name. */
export function readAnswer(text: string): unknown {
  const json = parseStrictJson(new TextEncoder().encode(text))
  if (json.kind !== 'valid') return undefined
  const { value } = json
  const a2a = overA2a.safeParse(value).data
  if (a2a) return a2a.result.message.parts[0].data
  return overMcp.safeParse(value).data?.result.structuredContent ?? value
}
