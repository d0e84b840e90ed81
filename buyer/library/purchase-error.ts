/**
 * The errors of the buyer's library. Each has a stable code, says whether a payment was sent and what to do, and has
 * what the service answered: only codes, never texts of the service.
 */
import * as z from 'zod'
import { decodeBase64 } from '../../base/base64.ts'
import { isDataError, REFUSALS, type RefusalCode } from '../../agent/operation/refusal.ts'
import { parseDocument } from '../../base/strict-json.ts'
import { chargedBy, describeOutcome, outcomeJson, type Charged, type Outcome } from './outcome.ts'

/** What the caller does next. */
const ADVICE = {
  request_unsupported: 'Change the input. A request is a GET or a POST with a text body, without a payment header.',
  quote_unexpected: 'Check the service and the expected terms.',
  price_above_limit: 'Raise the limit for one request, or do not buy.',
  day_limit_reached: 'Wait until the next day in UTC, or raise the limit of the day.',
  spending_unknown: 'Restore the missing or damaged file, or wait until the next day in UTC.',
  purchase_unreadable: 'Keep the file: it may hold a payment that was sent. To buy anew, move it to another folder.',
  outcome_unknown: 'Repeat the same request. The same payment is sent again and charged at most once.',
  payment_refused: 'Repeat the same request. The same payment is sent until it has ended, then a new one is signed.',
  service_unreachable: 'Start the service, or check its URL, and repeat the same request.',
  signature_failed: 'Read the error of the signer, and repeat the same request.',
  aborted: 'Repeat the same request. A payment that was signed is sent again, and no other.',
  new_payment_refused: 'Repeat the same request without the wish for a new payment.',
  storage_failed: 'Make the storage writable, and repeat the same request.',
  service_refused: 'Read the code of the answer, and change the request.',
  allowance_used: 'Repeat the same request with a higher limit of the sum, once somebody has agreed to it.',
  answer_unexpected: 'Keep the file of the purchase, which has the answer, and contact the operator.',
  receipt_invalid: 'Keep the file of the purchase, which has the answer, and contact the operator.',
} as const

export type PurchaseErrorCode = keyof typeof ADVICE

interface PurchaseErrorOptions extends ErrorOptions {
  /** The file of the purchase, if a payment was signed. */
  file?: string | undefined
  answer?: ServiceAnswer
  /** By default that of the code. */
  advice?: string | undefined
  /** By default `unknown` with a file and `not_sold` without one. */
  outcome?: Outcome
}

/**
 * A purchase that did not end with an answer.
 * @example
 * try {
 *   await buyer.fetch(url)
 * } catch (error) {
 *   if (!(error instanceof PurchaseError)) throw error
 *   console.error(error.code, error.answer?.reason, error.advice)
 * }
 */
export class PurchaseError extends Error {
  override readonly name = 'PurchaseError'
  readonly code: PurchaseErrorCode
  /** The file of the purchase. Undefined if nothing was signed. */
  readonly file: string | undefined
  /** The answer of the service: its status, code and reason. Undefined if none arrived. */
  readonly answer: ServiceAnswer | undefined
  readonly outcome: Outcome
  readonly #advice: string | undefined

  constructor(code: PurchaseErrorCode, message: string, options: PurchaseErrorOptions = {}) {
    const { file, answer, advice, outcome = { kind: file === undefined ? 'not_sold' : 'unknown' }, cause } = options
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.file = file
    this.answer = answer
    this.outcome = outcome
    this.#advice = advice
  }

  /**
   * Whether the request was charged. After a signature only a valid receipt, the chain, or the end of a refused payment
   * says so; what the service states does not.
   */
  get charged(): Charged {
    return chargedBy(this.outcome)
  }

  /** What the caller does next. For a refusal before a signature that of the error table. */
  get advice(): string {
    const code = this.answer?.code
    if (this.#advice !== undefined) return this.#advice
    if (this.outcome.kind === 'settled_earlier') return describeOutcome(this.outcome)
    if (code === undefined) return ADVICE[this.code]
    return this.code === 'service_refused' || isDataError(code) ? REFUSALS[code].advice : ADVICE[this.code]
  }

  toJSON() {
    const { name, code, message, outcome, file, answer, advice } = this
    return { name, code, message, ...outcomeJson(outcome), file, answer, advice }
  }
}

/** A missing or wrong option of the buyer or of a call. Nothing was signed. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  readonly code = 'option_invalid'
  readonly charged = 'no'
  readonly file = undefined
  /** The path of the option, for example `expected.payTo`. */
  readonly option: string

  readonly #advice: string | undefined

  /**
   * @param rule what the option must be
   * @param advice by default to set it
   */
  constructor(option: string, rule: string, advice?: string) {
    super(`${option} ${rule}`)
    this.option = option
    this.#advice = advice
  }

  get advice(): string {
    if (this.#advice !== undefined) return this.#advice
    return `Set the option ${this.option}. It ${this.message.slice(this.option.length + 1)}.`
  }

  toJSON() {
    const { name, code, message, charged, option, advice } = this
    return { name, code, message, charged, option, advice }
  }
}

/**
 * Throws the cause, if it is a PurchaseError, or else one with this code.
 * @param message by default that of the cause
 */
export const failWith =
  (code: PurchaseErrorCode, message?: string, file?: string) =>
  (cause: unknown): never => {
    if (cause instanceof PurchaseError) throw cause
    throw new PurchaseError(code, message ?? (cause instanceof Error ? cause.message : String(cause)), { file, cause })
  }

/** The error of a storage before a payment was sent, with the path and the code of the system. */
export function storageFailed(cause: unknown, file?: string): PurchaseError {
  if (cause instanceof PurchaseError) return cause
  const { path = file, code } = cause as NodeJS.ErrnoException
  const where = [path, code && `(${code})`].filter(Boolean).join(' ')
  return new PurchaseError(
    'storage_failed',
    `The storage of the purchases failed: ${where || String(cause)}. Nothing was sent`,
    { cause },
  )
}

export interface ServiceAnswer {
  status: number
  /** The error code, if it is one of the contract. */
  code: RefusalCode | undefined
  /** Why a payment was refused, for example `insufficient_funds`. */
  reason: string | undefined
  /** What the service has read of the account that cannot pay, in micro-USDC. */
  balance?: number
}

const errorSchema = z.object({ error: z.object({ code: z.string(), message: z.string().optional() }) })
/** Of the message of `insufficient_funds` (contract 7.4). */
const BALANCE = /: the wallet has ([0-9]{1,15}) micro-USDC,/
const reasonSchema = z.object({ error: z.string().regex(/^[a-z][a-z0-9_]{0,79}$/) })

export function describeAnswer(answer: {
  status: number
  body: string
  paymentRequired?: string | null
  reason?: string | undefined
}): ServiceAnswer {
  const { status, body, paymentRequired = null } = answer
  const { code: named, message = '' } = errorSchema.safeParse(parseDocument(body)).data?.error ?? {}
  const code = named !== undefined && Object.hasOwn(REFUSALS, named) ? (named as RefusalCode) : undefined
  const quoted = paymentRequired === null ? undefined : decodeBase64(paymentRequired)
  const reason = reasonSchema.safeParse(quoted && parseDocument(quoted)).data?.error
  const balance = BALANCE.exec(message)?.[1]
  return { status, code, reason: reason ?? answer.reason, ...(balance !== undefined && { balance: Number(balance) }) }
}
