/**
 * The state of a purchase, derived from its file alone. Estimates, questions, summaries and signatures all use this
 * value.
 */
import type { Operation } from '../../agent/operation/operation.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { REFUSALS } from '../../agent/operation/refusal.ts'
import type { AuthorizationState, ReadAuthorization } from './authorization-state.ts'
import type { Outcome } from './outcome.ts'
import { describeAnswer } from './purchase-error.ts'
import { listNames, parsePayment, readPayment, readPurchase, type Purchase } from './purchase-file.ts'
import { requestedOperation } from './purchase-request.ts'
import type { BuyerStorage, PurchaseEntry } from './storage.ts'
import { purchasedReceipt } from './verify-purchase.ts'

/**
 * `paid`: it has an answer with a receipt. `open`: its payment may still be settled, or has been. `refused`: the
 * service refused the payment, which has ended since. `expired`: the payment has ended without a known outcome. `none`:
 * nothing was signed.
 */
export type PurchaseState = 'none' | 'paid' | 'open' | 'refused' | 'expired'

/** How far the clock of this machine may be ahead of the chain, which decides when an authorization ends. */
const CLOCK_SKEW_MS = 60_000

/** After these statuses the same payment is sent again: rate limit, server failures, and unknown outcomes. */
export const REPEAT_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504])

/**
 * Whether an answer is the refusal of this service with a code that says that the payment was not charged. That is
 * certain only after the payment has ended. Without a code, the answer can be that of a proxy, behind which the payment
 * was settled. A payment of another request can be settled for that request.
 */
export function isRefused(answer: { status: number; body: string } | null | undefined): boolean {
  const { status, code } = answer ? describeAnswer(answer) : {}
  if (status === undefined || code === undefined || REPEAT_STATUSES.has(status)) return false
  return REFUSALS[code].status === status && REFUSALS[code].charged === 'no' && code !== 'payment_replay_conflict'
}

export function stateOf(purchase: Purchase | undefined, now: Date): PurchaseState {
  if (!purchase) return 'none'
  const { answer } = purchase
  if (answer?.status === 200) return purchasedReceipt(purchase) === undefined ? 'open' : 'paid'
  if (!hasEnded(purchase, now)) return 'open'
  return isRefused(answer) ? 'refused' : 'expired'
}

/** When the payment certainly cannot be settled any more. One that cannot be read never ends. */
const endOf = (purchase: Purchase): number =>
  (parsePayment(purchase)?.validBefore.getTime() ?? Infinity) + CLOCK_SKEW_MS

export const hasEnded = (purchase: Purchase, now: Date): boolean => endOf(purchase) <= now.getTime()

/**
 * Whether another payment may be signed. An expired one is first sent once more; another is signed if that is refused.
 */
export function maySign(state: PurchaseState): boolean {
  return state !== 'paid' && state !== 'open'
}

export interface ListedPurchase {
  /** That of the entry. */
  name: string
  purchase: Purchase
  /** Undefined for a request of no paid operation. */
  operation: Operation | undefined
  state: PurchaseState
  /** Micro-USDC. */
  amount: number
}

type Purchases = readonly Pick<ListedPurchase, 'state' | 'amount'>[]

/** Micro-USDC. */
const sumOf = (purchases: Purchases): number => purchases.reduce((sum, { amount }) => sum + amount, 0)

/** Micro-USDC of the purchases with an answer. */
export const paidAmount = (purchases: Purchases): number => sumOf(purchases.filter(({ state }) => state === 'paid'))

/** Micro-USDC that is paid or may still be: all purchases except the refused ones. */
export const committedAmount = (purchases: Purchases): number =>
  sumOf(purchases.filter(({ state }) => state !== 'refused'))

/** @throws PurchaseError for a damaged entry */
export async function readListed(entry: PurchaseEntry, now: Date): Promise<ListedPurchase> {
  const purchase = await readPurchase(entry)
  const operation = requestedOperation(purchase.request, OPERATIONS)
  const amount = Number(readPayment(purchase).amount)
  return { name: entry.name, purchase, operation, state: stateOf(purchase, now), amount }
}

/** The purchases of a storage, the oldest first. A damaged entry does not hide the others. */
export async function listPurchases(storage: BuyerStorage, now: Date): Promise<ListedPurchase[]> {
  const names = await listNames(storage)
  const listed = await Promise.all(names.map((name) => readListed({ storage, name }, now).catch(() => [])))
  return listed.flat().toSorted((one, other) => one.purchase.signed_at.localeCompare(other.purchase.signed_at))
}

/** How the purchase ended, from its file and, if a node is named, from the chain. */
export async function outcomeOf(
  purchase: Purchase,
  now: Date,
  readAuthorization?: ReadAuthorization,
): Promise<Outcome> {
  const { answer } = purchase
  const state = stateOf(purchase, now)
  if (state === 'paid') return { kind: 'sold' }
  if (state === 'refused') return { kind: 'not_sold' }
  const onChain = readAuthorization ? await readOnChain(purchase, readAuthorization) : 'open'
  if (onChain === 'ended' || onChain === 'unfunded') return { kind: 'not_sold' }
  // The service settled the payment, and has no answer for it.
  if (answer && describeAnswer(answer).code === 'payment_already_settled') return { kind: 'settled_earlier' }
  if (onChain === 'used') return { kind: 'sold' }
  if (!isRefused(answer) || hasEnded(purchase, now)) return { kind: 'unknown' }
  return { kind: 'not_sold_later', certainFrom: new Date(endOf(purchase)) }
}

function readOnChain(purchase: Purchase, readAuthorization: ReadAuthorization): Promise<AuthorizationState> {
  const { payer: from, nonce, validBefore, amount } = readPayment(purchase)
  const authorization = { from, nonce, validBefore: String(validBefore.getTime() / 1000) }
  return readAuthorization(authorization, Number(amount)).catch(() => 'open' as const)
}
