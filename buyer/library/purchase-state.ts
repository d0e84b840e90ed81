/** What is known of a purchase from its file: its outcome, and whether another payment may be signed. */
import type { Operation } from '../../agent/operation/operation.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { PAYMENT_CONFLICTS, REFUSALS, UNCLEAR_STATUSES, type RefusalCode } from '../../agent/operation/refusal.ts'
import type { AuthorizationState, ReadAuthorization } from './authorization-state.ts'
import type { Outcome } from './outcome.ts'
import { describeAnswer } from './purchase-error.ts'
import { listNames, parsePayment, readPayment, readPurchase, type Purchase } from './purchase-file.ts'
import { requestedOperation } from './purchase-request.ts'
import type { BuyerStorage, PurchaseEntry } from './storage.ts'
import { purchasedReceipt } from './verify-purchase.ts'

/** How far the clock of this machine may be ahead of the chain, which decides when an authorization ends. */
const CLOCK_SKEW_MS = 60_000

/** After these statuses the same payment is sent again. */
export const REPEAT_STATUSES: ReadonlySet<number> = new Set([429, ...UNCLEAR_STATUSES])

/**
 * Whether an answer is the refusal of this service with a code that says that the payment was not charged. That is
 * certain only after the payment has ended. Without a code, the answer can be that of a proxy, behind which the payment
 * was settled. A payment of another request can be settled for that request.
 */
function isRefused(answer: { status: number; body: string } | null | undefined): boolean {
  const { status, code } = answer ? describeAnswer(answer) : {}
  if (status === undefined || code === undefined || REPEAT_STATUSES.has(status)) return false
  return REFUSALS[code].status === status && REFUSALS[code].charged === 'no' && code !== 'payment_replay_conflict'
}

const REQUEST_STATUSES: ReadonlySet<number> = new Set([400, 404, 409])

/** The code by which the service has refused the request, which no payment changes. */
export function decidingCode({ answer }: Purchase): RefusalCode | undefined {
  const { status, code } = answer ? describeAnswer(answer) : {}
  const isAboutRequest = code !== undefined && REFUSALS[code].status === status && !PAYMENT_CONFLICTS.has(code)
  return isAboutRequest && REQUEST_STATUSES.has(status) ? code : undefined
}

/** When the payment certainly cannot be settled any more. One that cannot be read never ends. */
const endOf = (purchase: Purchase): number =>
  (parsePayment(purchase)?.validBefore.getTime() ?? Infinity) + CLOCK_SKEW_MS

const hasEnded = (purchase: Purchase, now: Date): boolean => endOf(purchase) <= now.getTime()

/**
 * Whether the service, asked once more, has refused the payment as past its end, or has said that it was not settled.
 * Only then is another one signed: not by the clock of this machine alone, nor after any other answer.
 */
export function endsUnsold(answer: { status: number; body: string; paymentRequired?: string | null }): boolean {
  const { status, code, reason } = describeAnswer(answer)
  if (status !== 402 || code === undefined) return false
  return code === 'payment_failed' || reason === 'invalid_exact_evm_payload_authorization_valid_before'
}

/**
 * Whether the next call may sign another payment, for estimates: the payment has ended by the clock of this machine,
 * and the service has to confirm that first.
 */
export const mayBeReplaced = ({ purchase, outcome }: ListedPurchase, now: Date): boolean =>
  purchase.ended === true || (outcome.kind !== 'sold' && hasEnded(purchase, now))

export interface ListedPurchase {
  /** That of the entry. */
  name: string
  purchase: Purchase
  /** Undefined for a request of no paid operation. */
  operation: Operation | undefined
  outcome: Outcome
  /** Micro-USDC. */
  amount: number
}

type Purchases = readonly Pick<ListedPurchase, 'outcome' | 'amount'>[]

/** Micro-USDC. */
const sumOf = (purchases: Purchases): number => purchases.reduce((sum, { amount }) => sum + amount, 0)

/** Micro-USDC of the purchases with an answer. */
export const paidAmount = (purchases: Purchases): number =>
  sumOf(purchases.filter(({ outcome }) => outcome.kind === 'sold'))

/** Micro-USDC that is paid or may still be. */
export const committedAmount = (purchases: Purchases): number =>
  sumOf(purchases.filter(({ outcome }) => outcome.kind !== 'not_sold'))

/** @throws PurchaseError for a damaged entry */
export async function readListed(entry: PurchaseEntry, now: Date): Promise<ListedPurchase> {
  const purchase = await readPurchase(entry)
  const operation = requestedOperation(purchase.request, OPERATIONS)
  const amount = Number(readPayment(purchase).amount)
  return { name: entry.name, purchase, operation, outcome: outcomeOf(purchase, now), amount }
}

/** The purchases of a storage, the oldest first, and the names of damaged entries. */
export async function readAll(storage: BuyerStorage, now: Date) {
  const names = await listNames(storage)
  const read = await Promise.all(names.map((name) => readListed({ storage, name }, now).catch(() => name)))
  const listed = read
    .filter((each) => typeof each !== 'string')
    .toSorted((one, other) => one.purchase.signed_at.localeCompare(other.purchase.signed_at))
  return { listed, damaged: read.filter((each) => typeof each === 'string') }
}

/** The purchases of a storage, the oldest first, without damaged entries. */
export const listPurchases = async (storage: BuyerStorage, now: Date): Promise<ListedPurchase[]> =>
  (await readAll(storage, now)).listed

/** How the purchase ended, from its file alone. */
export function outcomeOf(purchase: Purchase, now: Date): Outcome {
  const { answer, ended } = purchase
  if (purchasedReceipt(purchase) !== undefined) return { kind: 'sold' }
  if (ended) return { kind: 'not_sold' }
  if (answer && describeAnswer(answer).code === 'payment_already_settled') return { kind: 'settled_earlier' }
  if (!isRefused(answer)) return { kind: 'unknown' }
  return hasEnded(purchase, now)
    ? { kind: 'not_sold' }
    : { kind: 'not_sold_later', certainFrom: new Date(endOf(purchase)) }
}

/** How the purchase ended, from its file and, if a node is named, from the chain. */
export async function observedOutcome(
  purchase: Purchase,
  now: Date,
  readAuthorization?: ReadAuthorization,
): Promise<Outcome> {
  const outcome = outcomeOf(purchase, now)
  if (outcome.kind === 'sold' || outcome.kind === 'not_sold' || !readAuthorization) return outcome
  const onChain = await readOnChain(purchase, readAuthorization)
  if (onChain === 'ended' || onChain === 'unfunded') return { kind: 'not_sold' }
  if (onChain === 'used' && outcome.kind !== 'settled_earlier') return { kind: 'sold' }
  return outcome
}

function readOnChain(purchase: Purchase, readAuthorization: ReadAuthorization): Promise<AuthorizationState> {
  const { payer: from, nonce, validBefore, amount } = readPayment(purchase)
  const authorization = { from, nonce, validBefore: String(validBefore.getTime() / 1000) }
  return readAuthorization(authorization, Number(amount)).catch(() => 'open' as const)
}
