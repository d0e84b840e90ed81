/**
 * Calls a facilitator and trusts explicit, consistent answers only: a success whose fields match, or a refusal for a reason
 * that occurs only before broadcast. Everything else is `unclear`, including errors and timeouts.
 */
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { z } from 'zod'
import type { Timer } from '../../store/runtime.ts'
import { withTimeLimit } from '../rpc/deadline.ts'
import type { Payment } from './headers.ts'
import type { QuoteReason } from './quote.ts'

/** For one call, including the body of the reply. Two of them, verify and settle, fit in the 65 s of an A2A call. */
export const FACILITATOR_TIMEOUT_MS = 30_000

/** The members of a reply that are used (x402 v2 sections 5.4 and 5.3). */
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

/** Maps refusal reasons of facilitators to the reason in the quote. Others become `verification_refused`. */
const KNOWN_REASONS: ReadonlyMap<string, QuoteReason> = new Map([
  ['insufficient_funds', 'insufficient_funds'],
  ['invalid_exact_evm_insufficient_balance', 'insufficient_funds'],
  ['invalid_exact_evm_nonce_already_used', 'authorization_used'],
  ['invalid_exact_evm_signature', 'invalid_exact_evm_payload_signature'],
  ['invalid_exact_evm_payload_signature', 'invalid_exact_evm_payload_signature'],
  ['invalid_exact_evm_payload_authorization_valid_before', 'invalid_exact_evm_payload_authorization_valid_before'],
  ['invalid_exact_evm_payload_authorization_valid_after', 'invalid_exact_evm_payload_authorization_valid_after'],
])

/** Settlement errors that occur only before the transaction is sent. After any other error the outcome is unknown. */
const REFUSED_BEFORE_BROADCAST: ReadonlySet<string> = new Set([
  'insufficient_funds',
  'invalid_exact_evm_insufficient_balance',
  'invalid_exact_evm_signature',
  'invalid_exact_evm_payload_signature',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_payload_authorization_valid_after',
])

export type Verification =
  { kind: 'verified' } | { kind: 'refused'; reason: QuoteReason } | { kind: 'unclear'; cause: unknown }

export type Settlement =
  | { kind: 'settled'; transaction: string }
  /** Refused before broadcast according to the facilitator. Final only if the nonce is free on chain. */
  | { kind: 'refused'; reason: string }
  | { kind: 'unclear'; cause: unknown }

interface FacilitatorRequest {
  facilitator: FacilitatorClient
  timer: Timer
  payment: Payment
  requirements: PaymentRequirements
}

export async function verifyWithFacilitator(request: FacilitatorRequest): Promise<Verification> {
  const { facilitator, timer, payment, requirements } = request
  try {
    const call = facilitator.verify(toPaymentPayload(payment), requirements)
    const reply = verifyReplySchema.parse(await withTimeLimit({ timer, milliseconds: FACILITATOR_TIMEOUT_MS }, call))
    if (!reply.isValid) return { kind: 'refused', reason: toQuoteReason(reply.invalidReason) }
    return isPayer(reply.payer, payment)
      ? { kind: 'verified' }
      : { kind: 'unclear', cause: 'the facilitator verified another payer' }
  } catch (cause) {
    return { kind: 'unclear', cause }
  }
}

export async function settleWithFacilitator(request: FacilitatorRequest): Promise<Settlement> {
  const { facilitator, timer, payment, requirements } = request
  try {
    const call = facilitator.settle(toPaymentPayload(payment), requirements)
    const reply = settleReplySchema.parse(await withTimeLimit({ timer, milliseconds: FACILITATOR_TIMEOUT_MS }, call))
    if (!reply.success) return toRefusal(reply.errorReason)
    const isConsistent =
      reply.network === requirements.network &&
      isPayer(reply.payer, payment) &&
      (reply.amount === undefined || reply.amount === requirements.amount) &&
      TRANSACTION_HASH.test(reply.transaction)
    if (!isConsistent) return { kind: 'unclear', cause: 'the settlement reply does not match the payment' }
    return { kind: 'settled', transaction: reply.transaction.toLowerCase() }
  } catch (cause) {
    return { kind: 'unclear', cause }
  }
}

function toRefusal(reason: string | undefined): Settlement {
  if (reason !== undefined && REFUSED_BEFORE_BROADCAST.has(reason)) return { kind: 'refused', reason }
  return { kind: 'unclear', cause: 'the error may have occurred after broadcast' }
}

/** The payload as the client sent it. The cast is safe, because `checkTerms` has compared `accepted` with the quote. */
function toPaymentPayload(payment: Payment): PaymentPayload {
  return payment as unknown as PaymentPayload
}

function isPayer(payer: string | undefined, { payload }: Payment): boolean {
  return payer?.toLowerCase() === payload.authorization.from.toLowerCase()
}

function toQuoteReason(reason: string | undefined): QuoteReason {
  return KNOWN_REASONS.get(reason ?? '') ?? 'verification_refused'
}
