/**
 * Asks a facilitator, and believes only what was said explicitly and fits: a success whose fields check out, or a refusal
 * for a reason that exists before anything is sent to the chain. Silence, errors and everything else are "unclear".
 */
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { z } from 'zod'
import type { Payment } from './headers.ts'
import type { Reason } from './quote.ts'

/** Over headers and body of one call; below the 65 s that an A2A call may take in all (spec 8). */
const FACILITATOR_TIMEOUT_MS = 30_000

/** What a reply must hold to say anything (x402 v2 sections 5.4 and 5.3); whoever sent it is not trusted to keep to it. */
const verifyReplySchema = z.object({
  isValid: z.boolean(),
  invalidReason: z.string().optional(),
  payer: z.string().optional(),
})
const settleReplySchema = z.object({
  success: z.boolean(),
  errorReason: z.string().optional(),
  transaction: z.string(),
  network: z.string(),
  payer: z.string().optional(),
  amount: z.string().optional(),
})

const TRANSACTION_HASH = /^0x[0-9a-fA-F]{64}$/

/** Facilitators' words for the refusals that we pass on, in ours. Their words differ; so the list is open below. */
const KNOWN_REASONS: ReadonlyMap<string, Reason> = new Map([
  ['insufficient_funds', 'insufficient_funds'],
  ['invalid_exact_evm_insufficient_balance', 'insufficient_funds'],
  ['invalid_exact_evm_nonce_already_used', 'authorization_used'],
  ['invalid_exact_evm_signature', 'invalid_exact_evm_payload_signature'],
  ['invalid_exact_evm_payload_signature', 'invalid_exact_evm_payload_signature'],
  ['invalid_exact_evm_payload_authorization_valid_before', 'invalid_exact_evm_payload_authorization_valid_before'],
  ['invalid_exact_evm_payload_authorization_valid_after', 'invalid_exact_evm_payload_authorization_valid_after'],
])

/** Reasons that a settlement can be refused for before its transaction is sent. Any other leaves the outcome open. */
const REFUSED_BEFORE_BROADCAST: ReadonlySet<string> = new Set([
  'insufficient_funds',
  'invalid_exact_evm_insufficient_balance',
  'invalid_exact_evm_signature',
  'invalid_exact_evm_payload_signature',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_payload_authorization_valid_after',
])

export type Verification =
  { kind: 'verified' } | { kind: 'refused'; reason: Reason } | { kind: 'unclear'; cause: unknown }

export type Settlement =
  | { kind: 'settled'; transaction: string }
  /** Said to be refused before broadcast; final only if the chain agrees that the nonce is free. */
  | { kind: 'refused'; reason: string }
  | { kind: 'unclear'; cause: unknown }

/** Calls back once after so many milliseconds; the result cancels that. */
export type Timer = (callback: () => void, milliseconds: number) => () => void

interface Request {
  facilitator: FacilitatorClient
  timer: Timer
  payment: Payment
  requirements: PaymentRequirements
}

export async function verify({ facilitator, timer, payment, requirements }: Request): Promise<Verification> {
  try {
    const reply = verifyReplySchema.parse(await inTime(timer, facilitator.verify(toPayload(payment), requirements)))
    if (!reply.isValid) return { kind: 'refused', reason: knownReason(reply.invalidReason) }
    return isPayer(reply.payer, payment)
      ? { kind: 'verified' }
      : { kind: 'unclear', cause: 'another payer was verified' }
  } catch (cause) {
    return { kind: 'unclear', cause }
  }
}

export async function settle({ facilitator, timer, payment, requirements }: Request): Promise<Settlement> {
  try {
    const reply = settleReplySchema.parse(await inTime(timer, facilitator.settle(toPayload(payment), requirements)))
    if (!reply.success) return refusalOf(reply.errorReason)
    const fits =
      reply.network === requirements.network &&
      isPayer(reply.payer, payment) &&
      (reply.amount === undefined || reply.amount === requirements.amount) &&
      TRANSACTION_HASH.test(reply.transaction)
    if (!fits) return { kind: 'unclear', cause: 'a success whose fields do not fit' }
    return { kind: 'settled', transaction: reply.transaction.toLowerCase() }
  } catch (cause) {
    return { kind: 'unclear', cause }
  }
}

function refusalOf(reason: string | undefined): Settlement {
  if (reason !== undefined && REFUSED_BEFORE_BROADCAST.has(reason)) return { kind: 'refused', reason }
  return { kind: 'unclear', cause: 'a failure that may have come after broadcast' }
}

/** Our schema keeps every member of the payload, so this is what the client sent. */
function toPayload(payment: Payment): PaymentPayload {
  return payment as unknown as PaymentPayload
}

function isPayer(payer: string | undefined, { payload }: Payment): boolean {
  return payer?.toLowerCase() === payload.authorization.from.toLowerCase()
}

function knownReason(reason: string | undefined): Reason {
  return KNOWN_REASONS.get(reason ?? '') ?? 'verification_refused'
}

/** A call that overruns keeps running; its outcome is then one for the chain to tell. */
async function inTime<T>(timer: Timer, call: Promise<T>): Promise<T> {
  let cancel = (): void => undefined
  const limit = new Promise<never>((_, reject) => {
    cancel = timer(() => reject(new Error('The facilitator did not answer in time')), FACILITATOR_TIMEOUT_MS)
  })
  try {
    return await Promise.race([call, limit])
  } finally {
    cancel()
  }
}
