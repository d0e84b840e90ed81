/** What an answer of the service says about a refusal: only codes, never texts of the service. */
import { z } from 'zod'
import { decodeBase64 } from '../json/base64.ts'
import { REFUSALS, type RefusalCode } from '../operation/refusal.ts'
import { parseJson } from '../rpc/read-body.ts'

export interface ServiceAnswer {
  status: number
  /** The error code, if it is one of the contract. */
  code: RefusalCode | undefined
  /** Why a payment was refused, for example `insufficient_funds`. */
  reason: string | undefined
  /** What the contract says for this code. A service that breaks its contract can have charged nevertheless. */
  charged: 'no' | 'unknown' | 'earlier'
}

const errorSchema = z.object({ error: z.object({ code: z.string() }) })
const reasonSchema = z.object({ error: z.string().regex(/^[a-z][a-z0-9_]{0,79}$/) })

export function describeAnswer(answer: {
  status: number
  body: string
  paymentRequired?: string | null
}): ServiceAnswer {
  const { status, body, paymentRequired = null } = answer
  const named = errorSchema.safeParse(parseJson(body)).data?.error.code
  const code = named !== undefined && Object.hasOwn(REFUSALS, named) ? (named as RefusalCode) : undefined
  const quoted = paymentRequired === null ? undefined : decodeBase64(paymentRequired)
  const quote = quoted && parseJson(new TextDecoder().decode(quoted))
  const reason = reasonSchema.safeParse(quote).data?.error
  return { status, code, reason, charged: code === undefined ? 'unknown' : REFUSALS[code].charged }
}
