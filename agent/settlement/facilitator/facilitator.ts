/**
 * Calls a facilitator and counts explicit, consistent answers only: a success whose fields match, or a refusal, which
 * the chain checks. Everything else is `unclear`, including errors and timeouts.
 */
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@x402/core/types'
import { isAddress } from 'viem'
import * as z from 'zod'
import { withDeadline } from '../../../base/deadline.ts'
import type { Report, Timer } from '../../../base/runtime.ts'
import { FACILITATOR_MS_MAX } from '../rpc/time-limits.ts'
import { ReplyError } from '../rpc/post-json.ts'
import type { Payment } from '../../payment/headers.ts'
import type { QuoteReason } from '../../operation/outcome.ts'
import { isSameAddress } from '../../payment/accounts.ts'

/** Facilitators in Python send an absent member as `null`. */
const optionalText = z.string().nullish()
/** The members of a reply that are used (x402 v2 sections 5.4 and 5.3). */
const verifyReplySchema = z.object({
  isValid: z.boolean(),
  invalidReason: optionalText,
  payer: optionalText,
  /** Which of several facilitators has answered. */
  facilitator: z.string().optional(),
})

const settleReplySchema = z.object({
  success: z.boolean(),
  errorReason: optionalText,
  transaction: z.string(),
  network: z.string(),
  payer: optionalText,
  amount: optionalText,
})
type SettleReply = z.infer<typeof settleReplySchema>

/** The official Python facilitator sends the 64 digits without `0x`. */
const TRANSACTION_HASH = /^(?:0x)?([0-9a-fA-F]{64})$/

/** Maps refusal reasons of facilitators to the reason in the quote. Others become `verification_refused`. */
const KNOWN_REASONS: ReadonlyMap<string, QuoteReason> = new Map([
  ['insufficient_funds', 'insufficient_funds'],
  ['invalid_exact_evm_insufficient_balance', 'insufficient_funds'],
  ['invalid_exact_evm_nonce_already_used', 'authorization_used'],
  ['invalid_exact_evm_signature', 'invalid_exact_evm_payload_signature'],
  ['invalid_exact_evm_payload_signature', 'invalid_exact_evm_payload_signature'],
  ['invalid_exact_evm_payload_undeployed_smart_wallet', 'invalid_exact_evm_payload_undeployed_smart_wallet'],
  ['eip6492_factory_not_allowed', 'eip6492_factory_not_allowed'],
  ['invalid_exact_evm_payload_authorization_valid_before', 'invalid_exact_evm_payload_authorization_valid_before'],
  ['invalid_exact_evm_payload_authorization_valid_after', 'invalid_exact_evm_payload_authorization_valid_after'],
])

/**
 * Refusals of a payer or a receiver by a rule of the facilitator, such as sanctions. The chain cannot check them, and
 * no other facilitator is asked to break the rule.
 */
const POLICY_REASON = /kyt|sanction|block(ed|list)|blacklist|denied|compliance|policy/i

/**
 * The error reason of the in-process facilitator if the token reverted the transfer other than for lack of funds, in a
 * simulation or on chain.
 */
export const TRANSFER_REVERTED = 'transfer_reverted'

export interface Facilitator {
  /**
   * The reply names the facilitator that gave it. A single facilitator of this process has no name. `after`: asks those
   * behind the one with this name only.
   */
  verify(
    payment: PaymentPayload,
    requirements: PaymentRequirements,
    after?: string,
  ): Promise<VerifyResponse & { facilitator?: string }>
  /** `name`: the facilitator that verified the payment, if it has one. */
  settle(payment: PaymentPayload, requirements: PaymentRequirements, name?: string): Promise<SettleResponse>
}

interface NamedFacilitator {
  /** Its URL, or `self` for the one in this process. */
  name: string
  client: Pick<FacilitatorClient, 'verify' | 'settle'>
}

/** Each facilitator has refused the payment. */
export class NoFacilitatorLeft extends ReplyError {
  override name = 'NoFacilitatorLeft'

  constructor() {
    super('NO_FACILITATOR_LEFT')
  }
}

/** For the log, which has codes only: the host of the facilitator. Its URL can hold a key. */
export function facilitatorError(name = 'sandbox', cause?: unknown): ReplyError {
  const host = URL.canParse(name) ? new URL(name).hostname : name
  return new ReplyError(`FACILITATOR_${host.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`.slice(0, 40), { cause })
}

/**
 * One or several facilitators. `verify` tries them in order. The one that answers also settles, and no later one
 * receives the payment unless the chain contradicts its refusal.
 */
export function openFacilitators(facilitators: readonly NamedFacilitator[], report: Report): Facilitator {
  return {
    async verify(payment, requirements, after) {
      const start = facilitators.findIndex(({ name }) => name === after) + 1
      // The last failure is thrown as it is, because the metrics count its kind.
      let failure: unknown
      for (const { name, client } of facilitators.slice(start)) {
        try {
          const reply = await client.verify(payment, requirements)
          verifyReplySchema.parse(reply)
          return { ...reply, facilitator: name }
        } catch (cause) {
          failure = cause
          if (name !== facilitators.at(-1)?.name) report('facilitator_unanswered', facilitatorError(name, cause))
        }
      }
      throw failure ?? new NoFacilitatorLeft()
    },
    async settle(payment, requirements, name) {
      const chosen = facilitators.find((each) => each.name === name)
      // The operator has removed it, or it was that of a sandbox. Only the chain then ends the record.
      if (!chosen) throw new ReplyError('FACILITATOR_REMOVED')
      return chosen.client.settle(payment, requirements)
    },
  }
}

type Verification =
  | { kind: 'verified'; facilitator: string | undefined }
  /** Not a fact yet: the chain decides, unless it is a policy. */
  | { kind: 'refused'; reason: QuoteReason; isPolicy: boolean; facilitator: string | undefined }
  | { kind: 'unclear'; cause: unknown }

type Settlement = { transaction?: string | undefined; isReverted?: boolean } & (
  | { kind: 'settled'; transaction: string }
  /** Explicitly, without a transaction. Not a fact yet: the chain decides. */
  | { kind: 'refused' }
  | { kind: 'unclear'; cause: unknown }
)

interface FacilitatorRequest {
  facilitator: Facilitator
  timer: Timer
  payment: Payment
  requirements: PaymentRequirements
}

/** Never rejects. `after`: the facilitators after the one with this name are asked. */
export async function verifyWithFacilitator(request: FacilitatorRequest, after?: string): Promise<Verification> {
  const { facilitator, timer, payment, requirements } = request
  try {
    const call = () => facilitator.verify(toPaymentPayload(request), requirements, after)
    const reply = verifyReplySchema.parse(await withDeadline({ timer, milliseconds: FACILITATOR_MS_MAX }, call))
    if (!reply.isValid) return toVerifyRefusal(reply)
    return isPayer(reply.payer, payment)
      ? { kind: 'verified', facilitator: reply.facilitator }
      : { kind: 'unclear', cause: new ReplyError('OTHER_PAYER') }
  } catch (cause) {
    return { kind: 'unclear', cause }
  }
}

function toVerifyRefusal({ invalidReason, facilitator }: z.infer<typeof verifyReplySchema>): Verification {
  const text = invalidReason ?? ''
  const reason = KNOWN_REASONS.get(text) ?? 'verification_refused'
  return { kind: 'refused', reason, isPolicy: POLICY_REASON.test(text), facilitator }
}

/** `name`: the facilitator that verified the payment. */
export async function settleWithFacilitator(request: FacilitatorRequest, name?: string): Promise<Settlement> {
  const { facilitator, timer, requirements } = request
  try {
    const call = () => facilitator.settle(toPaymentPayload(request), requirements, name)
    const reply = settleReplySchema.parse(await withDeadline({ timer, milliseconds: FACILITATOR_MS_MAX }, call))
    return reply.success ? checkSuccess(reply, request) : toRefusal(reply)
  } catch (cause) {
    return { kind: 'unclear', cause }
  }
}

/** An error reason or a field that does not fit the payment makes a success unclear. */
function checkSuccess(reply: SettleReply, { payment, requirements }: FacilitatorRequest): Settlement {
  const transaction = parseTransactionHash(reply.transaction)
  const isConsistent =
    !reply.errorReason &&
    reply.network === requirements.network &&
    isPayer(reply.payer, payment) &&
    (reply.amount ?? requirements.amount) === requirements.amount
  if (isConsistent && transaction !== undefined) return { kind: 'settled', transaction }
  return { kind: 'unclear', cause: new ReplyError('OTHER_PAYMENT'), transaction }
}

function toRefusal({ errorReason, transaction: text }: SettleReply): Settlement {
  const transaction = parseTransactionHash(text)
  const isReverted = errorReason === TRANSFER_REVERTED
  // The chain cannot check a policy.
  if (text === '' && !POLICY_REASON.test(errorReason ?? '')) return { kind: 'refused', isReverted }
  return { kind: 'unclear', cause: new ReplyError('NOT_REFUSED'), transaction, isReverted }
}

/** In lower case with `0x`. Undefined if the text is no transaction hash. */
function parseTransactionHash(text: string): string | undefined {
  const digits = TRANSACTION_HASH.exec(text)?.[1]
  return digits && `0x${digits.toLowerCase()}`
}

/**
 * The payload as the client sent it, with the quoted `accepted`, without a null `resource` or `extensions`, and with
 * addresses in a case that every facilitator accepts.
 */
function toPaymentPayload({ payment, requirements }: FacilitatorRequest): PaymentPayload {
  const { authorization } = payment.payload
  const [from, to] = [readableAddress(authorization.from), readableAddress(authorization.to)]
  const payload = { ...payment.payload, authorization: { ...authorization, from, to } }
  const [resource, extensions] = [payment.resource ?? undefined, payment.extensions ?? undefined]
  return { ...payment, resource, extensions, accepted: requirements, payload } as unknown as PaymentPayload
}

/**
 * Facilitators call a signature invalid if the case of an address is not that of its checksum (EIP-55). The signature
 * covers the bytes only.
 */
function readableAddress(address: string): string {
  return isAddress(address) ? address : address.toLowerCase()
}

/** The payer is optional in replies (x402 v2). */
function isPayer(payer: string | null | undefined, { payload }: Payment): boolean {
  const { from } = payload.authorization
  return isSameAddress(payer ?? from, from)
}
