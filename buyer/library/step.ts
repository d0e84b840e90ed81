/** The steps of a purchase, for a program that shows them. */
import type { ServiceAnswer } from './purchase-error.ts'
import type { DecodedQuote, QuoteCheck } from './quote.ts'
import type { AuthorizationTypedData } from './signer.ts'

export type PurchaseStep =
  /** The service asks for a payment. Nothing is signed unless every check has passed. */
  | { kind: 'quoted'; quote: DecodedQuote['requirements']; checks: readonly QuoteCheck[] }
  | { kind: 'signing'; address: string; typed: AuthorizationTypedData }
  /**
   * An earlier call has bought the answer, and did not return it. `returned`: it is returned now, and nothing is
   * charged. `left`: it is older than a day, and another one is bought.
   */
  | { kind: 'returned' | 'left'; file: string; signedAt: string }
  /** An earlier call has signed the payment and got no paid answer. It is sent again. */
  | { kind: 'resumed'; file: string; signedAt: string }
  /** The payment is on disk. */
  | { kind: 'stored'; file: string; payer: string }
  /** `attempt` is 1 at first. */
  | { kind: 'sending'; attempt: number }
  /** The outcome is unclear, and the same payment is sent again. Without an answer, none has arrived. */
  | { kind: 'waiting'; seconds: number; answer: ServiceAnswer | undefined }
  | { kind: 'answered'; status: number }

/** Must not throw. */
export type OnStep = (step: PurchaseStep) => void
