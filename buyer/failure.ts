/** What a command says about a purchase that did not end with an answer: one line, and a document for programs. */
import * as z from 'zod'
import type { Failure } from '../agent/command-line/context.ts'
import { isDataError, NEXT as NEXT_OF_SERVICE, REFUSALS, type Next } from '../agent/operation/refusal.ts'
import { resolve } from '../agent/operation/resolve.ts'
import { DEPLOYMENTS } from '../agent/payment/terms.ts'
import { parseJson } from '../base/read-body.ts'
import { DAY_MS } from '../base/day.ts'
import { errorCode } from '../base/error-code.ts'
import { showUsdc } from './amounts.ts'
import { chargedBy, describeOutcome, outcomeJson, toMoment } from './library/outcome.ts'
import type { PurchaseError, PurchaseErrorCode, ServiceAnswer } from './library/purchase-error.ts'
import { NO_FILE, parsePayment, type Purchase } from './library/purchase-file.ts'
import { requestedOperation } from './library/purchase-request.ts'
import { decidingCode } from './library/purchase-state.ts'

export const FAUCET = 'Test USDC of Base Sepolia: https://faucet.circle.com.'

/** Of a refused payment whose charge only the chain shows. */
const CHARGED = 'The chain shows the charge. Run the same command again: the same payment is sent for the answer.'

const KEEP = 'Keep the file, and contact the operator.'

/** What a user of the commands does next. Without an entry the outcome says it. */
const NEXT: Partial<Record<PurchaseErrorCode, string>> = {
  request_unsupported: 'Change the arguments.',
  quote_unexpected: 'Check --url and --mode.',
  price_above_limit: 'To pay more, set a higher --max-amount.',
  day_limit_reached: 'Raise --max-per-day, or wait until MIDNIGHT.',
  spending_unknown: 'Restore the file, or wait until MIDNIGHT.',
  purchase_unreadable: 'Keep the file: it may hold a payment that was sent. To buy anew, move it to another folder.',
  service_unreachable: 'Start the service, or check --url.',
  signature_failed: 'Check the key file.',
  new_payment_refused: 'Run the same command without --new-payment.',
  storage_failed: 'Make it writable, or name another folder.',
  allowance_used: 'Run the same command again: it shows what remains to be paid, and asks.',
  answer_unexpected: KEEP,
  receipt_invalid: KEEP,
}

/** Micro-USDC. */
export interface Limits {
  amountMax?: number | undefined
  amountPerDayMax?: number | undefined
}

/** The sentence of the library has other words than the commands. */
function describeError({ code, message, file }: PurchaseError, { amountMax, amountPerDayMax }: Limits): string {
  const limit = (amount: number | undefined) => (amount === undefined ? '' : ` of ${showUsdc(amount)} USDC`)
  if (code === 'price_above_limit') return `The price is above the limit${limit(amountMax)}. Nothing was signed.`
  if (code === 'day_limit_reached')
    return `The payment would exceed the limit${limit(amountPerDayMax)} for a UTC day. Nothing was signed.`
  if (code === 'aborted' && file === undefined) return 'Interrupted before a payment was signed.'
  if (code === 'aborted') return `Interrupted after a payment was signed, which is in ${file}.`
  return `${message.replace(/\.$/, '')}.`
}

/** The end of the UTC day, to which reservations count. */
const midnightAfter = (now: Date): Date => new Date((Math.floor(now.getTime() / DAY_MS) + 1) * DAY_MS)

/** @param saved the purchase in the file of the error */
export function describeFailure(
  error: PurchaseError,
  { saved, now, isOfList = false, ...limits }: Limits & { saved?: Purchase | undefined; now: Date; isOfList?: boolean },
): Failure {
  const { code, answer, file, outcome } = error
  const payment = saved && parsePayment(saved)
  const said = answer ? describeRefusal(answer, payment) : describeError(error, limits)
  const isNoFile = NO_FILE.has(errorCode(error.cause))
  const unanswered = isNoFile ? 'Name another file or folder.' : NEXT[code]
  const next = answer ? adviceOf(answer, saved) : unanswered?.replace('MIDNIGHT', toMoment(midnightAfter(now)))
  const isUnsigned = file === undefined && /Nothing was (?:signed|sent)/.test(said)
  // That one payment of a list was not charged says nothing about the others.
  const isOther = isOfList && outcome.kind === 'not_sold'
  // The same command does not continue a purchase that cannot be read.
  const isQuiet = isUnsigned || isOther || code === 'purchase_unreadable'
  const known = isQuiet ? '' : answer && outcome.kind === 'sold' ? CHARGED : describeOutcome(outcome)
  // The command of a list sends all its open payments again.
  const mayRetry = outcome.kind === 'unknown' && known !== '' && file !== undefined && !isOfList
  const retry = mayRetry ? `Or: --retry ${file}` : ''
  const { error: refusal, ...dataError } = { error: undefined, ...(answer && saved && readDataError(saved)) }
  const refused = refusalSchema.safeParse(refusal).data
  return {
    message: [said, next, known, retry].filter(Boolean).join(' '),
    code: answer?.code ?? code,
    // The service says that it has not charged, but a signed payment can be settled until it ends.
    said: refused ? { charged: chargedBy(outcome), ...refused } : {},
    details: {
      ...dataError,
      ...(answer && { http_status: answer.status, ...(answer.reason !== undefined && { reason: answer.reason }) }),
      ...(payment && { payer: payment.payer, network: payment.network, amount: showUsdc(payment.amount) }),
      ...(file !== undefined && { file }),
      ...outcomeJson(outcome),
    },
  }
}

const refusalSchema = z.object({ next: z.enum(Object.keys(NEXT_OF_SERVICE) as [Next, ...Next[]]) })

/** The refusal that says what the register has, such as no company with the number, whatever came after it. */
export function readDataError(saved: Purchase): object | undefined {
  const code = decidingCode(saved)
  const body = code !== undefined && isDataError(code) ? parseJson(saved.answer?.body ?? '') : undefined
  return typeof body === 'object' && body !== null ? body : undefined
}

function describeRefusal(answer: ServiceAnswer, payment: ReturnType<typeof parsePayment>): string {
  const { status, code, reason, balance } = answer
  const what = [status, code, reason].filter(Boolean).join(' ')
  const { payer, network, amount, validBefore } = payment ?? {}
  const paidBy = payer === undefined ? '' : `, with a payment of ${payer} on ${network}`
  if (reason !== 'insufficient_funds' || validBefore === undefined)
    return `${what}${paidBy}: ${code === undefined ? 'This is no answer of the service. Check its URL, or a proxy before it.' : REFUSALS[code].message}`
  const faucet = network === DEPLOYMENTS.testnet.network ? ` ${FAUCET}` : ''
  return (
    `${what}: ${payer} on ${network} has ${balance === undefined ? 'less' : `${showUsdc(balance)} USDC, which is less`} ` +
    `than the price of ${showUsdc(amount ?? 0)} USDC. Send USDC to this address.${faucet} Until ${toMoment(validBefore)} the same command sends this payment again, with any key.`
  )
}

/**
 * A 402 advises to sign another payment, but this one can still be settled. For a payment that was settled earlier, the
 * outcome says what to do.
 */
function adviceOf({ status, code }: ServiceAnswer, saved: Purchase | undefined): string | undefined {
  if (code === undefined || status === 402 || code === 'payment_already_settled') return undefined
  const asked = saved && requestedOperation(saved.request, [resolve])
  return code === 'company_not_found' && asked ? 'Correct the number, or leave it out.' : REFUSALS[code].advice
}
