/** Verifies the receipt of a purchase against the key set, the saved request and the saved payment. */
import * as z from 'zod'
import { operationDigest } from '../../base/canonical.ts'
import { toNamed } from '../../agent/operation/operation.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { FREE_PATHS } from '../../agent/operation/endpoints.ts'
import { findRoute } from '../../agent/operation/resource.ts'
import type { ReceiptClaims } from '../../agent/payment/receipt/claims.ts'
import {
  readAnswer,
  readSettlementResponse,
  receiptOf,
  statedIssuer,
  type SettlementResponse,
} from '../../agent/payment/receipt/read.ts'
import { verifyReceipt, type ReceiptCheck, type VerifiedReceipt } from '../../agent/payment/receipt/verify.ts'
import { fetchDocument, type Fetch } from '../../base/bounded-fetch.ts'
import { parsePayment, type Purchase } from './purchase-file.ts'
import { requestedOperation } from './purchase-request.ts'
import { isSameAddress } from '../../agent/payment/accounts.ts'

/** The receipt of a purchase whose answer was paid. Undefined if it has none. */
export function purchasedReceipt({ answer }: Purchase): string | undefined {
  const response = readPaid(answer)
  return response && receiptOf(response)
}

function readPaid(answer: Purchase['answer']): SettlementResponse | undefined {
  return answer?.status === 200 && answer.payment_response !== null
    ? readSettlementResponse(answer.payment_response)
    : undefined
}

/**
 * The URL of the key set of a purchase: that of the service which the quote named. Undefined if the receipt names
 * another issuer.
 */
export function keySetUrl(purchase: Purchase): string | undefined {
  const issuer = statedIssuer(purchasedReceipt(purchase) ?? '')
  return issuer !== undefined && isQuotedBy(purchase, issuer) ? `${issuer}${FREE_PATHS.jwks}` : undefined
}

export const keySetSchema = z.looseObject({ keys: z.array(z.unknown()) })

/** @throws if the key set cannot be read, also if the answer is a refusal such as 429 */
export function fetchKeySet(fetch: Fetch, url: string): Promise<unknown> {
  return fetchDocument(fetch, url, keySetSchema)
}

/** Never throws for an invalid purchase, answer or receipt. */
export async function verifyPurchase(purchase: Purchase, keySet: unknown): Promise<VerifiedReceipt> {
  const response = readPaid(purchase.answer)
  if (!response || !purchase.answer) {
    const detail = 'the file has no paid answer with a receipt'
    return { isValid: false, checks: [{ name: 'receipt', passed: false, detail }] }
  }
  const answer = readAnswer(purchase.answer.body)
  const verified = await verifyReceipt({ receipt: receiptOf(response), answer, keySet })
  const { claims } = verified
  if (!claims) return verified
  const checks = [
    ...verified.checks,
    { name: 'issuer', passed: isQuotedBy(purchase, claims.iss), detail: claims.iss },
    checkRequest(purchase, claims),
    checkPayment(purchase, claims),
    checkResponse(response, claims),
  ]
  return { ...verified, checks, isValid: checks.every(({ passed }) => passed) }
}

/** Whether the quote that was paid named a paid resource of this issuer. */
function isQuotedBy({ quote }: Purchase, issuer: string): boolean {
  const url = z.object({ resource: z.object({ url: z.string() }) }).safeParse(quote).data?.resource.url
  if (!url?.startsWith(`${issuer}/`)) return false
  const [path = ''] = url.slice(issuer.length).split('?', 1)
  return findRoute(path, OPERATIONS) !== undefined
}

function checkRequest({ request }: Purchase, claims: ReceiptClaims): ReceiptCheck {
  const operation = requestedOperation(request, OPERATIONS)
  const digest = operation && `sha256:${operationDigest(toNamed(operation))}`
  return {
    name: 'request',
    passed: digest === claims.operation_digest,
    detail: digest ?? 'the saved request names no operation',
  }
}

/** Compares the receipt with what the buyer has signed. */
function checkPayment(purchase: Purchase, { jti, payment }: ReceiptClaims): ReceiptCheck {
  const saved = parsePayment(purchase)
  if (!saved) return { name: 'payment', passed: false, detail: 'the saved payment cannot be read' }
  const { validBefore: _, ...signed } = saved
  const differing = Object.entries(signed).flatMap(([name, text]) =>
    text.toLowerCase() === payment[name as keyof typeof payment].toLowerCase() ? [] : [name],
  )
  const identity = [signed.network, signed.asset, signed.payer, signed.nonce].join('/').toLowerCase()
  if (jti !== identity) differing.push('identity')
  const detail = differing.length > 0 ? `differs from the signed payment: ${differing.join(', ')}` : describe(payment)
  return { name: 'payment', passed: differing.length === 0, detail }
}

export function checkResponse(response: SettlementResponse, { payment }: ReceiptClaims): ReceiptCheck {
  const { transaction, network, payer, amount } = response
  const passed =
    transaction === payment.transaction &&
    network === payment.network &&
    isSameAddress(payer, payment.payer) &&
    amount === payment.amount
  return { name: 'response', passed, detail: `transaction ${transaction}` }
}

export function describe({ amount, asset, network, payer, pay_to }: ReceiptClaims['payment']): string {
  return `${amount} of ${asset} on ${network} from ${payer} to ${pay_to}`
}
