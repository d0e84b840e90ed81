/** The actions of the command `client`. They print each step, and escape text from the service. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { z } from 'zod'
import { replaceHidden } from '../../store/hidden.ts'
import { REFUSALS, type RefusalCode } from '../operation/refusal.ts'
import { parseOperation, type Operation, type OperationName } from '../operation/schema.ts'
import { purchaseNonce, REPEAT_STATUSES, sendPayment, sendRequest, signPurchase } from './buy.ts'
import type { BuyerRuntime, PurchaseAnswer } from './buy.ts'
import { readPurchase, writePurchase } from './purchase-file.ts'
import { a2aRequest, restRequest } from './purchase-request.ts'
import {
  accessSchema,
  compareQuote,
  decodeQuote,
  MICRO_USDC_PER_USDC,
  publishedTerms,
  type DecodedQuote,
} from './quote.ts'
import { verifyCard } from './verify-card.ts'

export interface ClientContext extends BuyerRuntime {
  print: (line: string) => void
  now: () => Date
}

interface BuyOptions {
  operation: OperationName
  input: Record<string, unknown>
  baseUrl: string
  keyFile: string
  a2a: boolean
  purchasesDirectory: string
}

/** Buys one answer. Returns false if the service refuses it, or if the quote is not the published one. */
export async function buyAnswer(context: ClientContext, options: BuyOptions): Promise<boolean> {
  const { print, fetch, now } = context
  const { baseUrl } = options
  const parsed = parseOperation(options.operation, options.input)
  if (parsed.kind === 'invalid') return fail(print, [parsed.fault.field ?? 'the request:', parsed.fault.rule].join(' '))
  const { operation } = parsed

  const request = options.a2a ? await a2aRequest(baseUrl, operation, fetch) : restRequest(baseUrl, operation)
  const unpaid = await sendRequest(context, request)
  if (unpaid.status !== 402 || unpaid.paymentRequired === null) return printAnswer(print, unpaid)
  const quote = decodeQuote(unpaid.paymentRequired)
  if (!(await printQuoteChecks(context, quote, baseUrl, operation))) {
    return fail(print, 'The quote differs from what the service publishes. Nothing was signed.')
  }

  const privateKey = await readPrivateKey(options.keyFile)
  const purchase = await signPurchase(request, quote, { privateKey, now: now() })
  const path = join(options.purchasesDirectory, `${purchaseNonce(purchase)}.json`)
  await writePurchase(path, purchase)
  print(`payment saved in ${path}`)
  return printAnswer(print, await sendPayment(context, path, purchase), path)
}

/** Sends the payment of a saved purchase again and compares the answer with the saved one. */
export async function retryPurchase(context: ClientContext, path: string): Promise<boolean> {
  const { print } = context
  const purchase = await readPurchase(path)
  const { method, url } = purchase.request
  print(`repeating ${method} ${printable(url)} with the payment of ${purchase.signed_at}`)
  const answer = await sendPayment(context, path, purchase)
  const isBought = printAnswer(print, answer, path)
  if (!isBought || purchase.answer?.status !== 200) return isBought
  if (purchase.answer.body !== answer.body || purchase.answer.payment_response !== answer.paymentResponse) {
    return fail(print, 'THE ANSWER DIFFERS from the saved one. The saved answer was kept.')
  }
  print('The answer and the transaction are the same as before: nothing was charged again.')
  return true
}

/** Returns false if no signature of the agent card is valid. */
export async function verifyCardSignature({ print, fetch }: ClientContext, baseUrl: string): Promise<boolean> {
  const kid = await verifyCard(baseUrl, fetch)
  if (kid === undefined) return fail(print, 'The agent card has no valid signature.')
  print(`The agent card is signed by ${kid}`)
  return true
}

/** Prints the quote and its checks against the published terms. Returns whether all of them passed. */
async function printQuoteChecks(
  { print, fetch }: ClientContext,
  quote: DecodedQuote,
  baseUrl: string,
  operation: Operation,
): Promise<boolean> {
  const { amount, network, payTo } = quote.requirements
  const price = `${Number(amount) / MICRO_USDC_PER_USDC} USDC`
  print(`The service asks ${price} on ${printable(network)}, paid to ${printable(payTo)}. The quote says:`)
  const meta = await (await fetch(`${baseUrl}/api/v1/meta`, { redirect: 'error' })).json()
  const { access } = z.object({ access: accessSchema }).parse(meta)
  const checks = compareQuote(quote, publishedTerms(baseUrl, operation, access))
  for (const { name, value, passed } of checks) {
    print(`  ${name.padEnd(9)}${printable(value)}  ${passed ? 'ok' : 'DIFFERS'}`)
  }
  return checks.every(({ passed }) => passed)
}

/** The data of an A2A answer is in the first part of its message. */
const a2aAnswerSchema = z.object({
  result: z.object({ message: z.object({ parts: z.tuple([z.object({ data: z.unknown() })]) }) }),
})

/** Prints the answer, its charge and what to do next. Returns whether it was bought. */
function printAnswer(print: ClientContext['print'], answer: PurchaseAnswer, path?: string): boolean {
  const json: unknown = JSON.parse(answer.body)
  const data = a2aAnswerSchema.safeParse(json).data?.result.message.parts[0].data ?? json
  print(`HTTP ${answer.status}`)
  print(printable(JSON.stringify(data, null, 2)))
  if (answer.paymentResponse !== null) {
    const { transaction, network, payer } = decodePaymentResponseHeader(answer.paymentResponse)
    print(`paid by ${printable(payer ?? 'unknown')} on ${printable(network)} in transaction ${printable(transaction)}`)
    if (answer.status === 200) return true
  }
  print(nextStep(answer.status, json))
  if (path !== undefined && REPEAT_STATUSES.has(answer.status)) print(`To send the same payment again: --retry ${path}`)
  return false
}

/** Returns the advice for the error code, or for the status if this client does not know the code. */
function nextStep(status: number, body: unknown): string {
  const parsed = z.object({ error: z.object({ code: z.string() }) }).safeParse(body)
  const code = parsed.data?.error.code ?? ''
  if (Object.hasOwn(REFUSALS, code)) {
    const { charged, advice } = REFUSALS[code as RefusalCode]
    return `charged: ${charged}. ${advice}`
  }
  if (status === 200) return 'The answer has no payment receipt: it was free.'
  if (REPEAT_STATUSES.has(status))
    return 'The outcome is not known. Keep the payment, send it again, and do not sign another one.'
  return 'The service refused the request. Change it before you try again.'
}

function fail(print: ClientContext['print'], line: string): false {
  print(line)
  return false
}

async function readPrivateKey(path: string): Promise<`0x${string}`> {
  const key = (await readFile(path, 'utf8').catch(() => '')).trim()
  if (!/^0x[0-9a-fA-F]{64}$/.test(key)) throw new Error(`${path} must hold a private key: 0x and 64 hex digits`)
  return key as `0x${string}`
}

/** Escapes invisible characters, so that text from the service cannot control the terminal. */
function printable(text: string): string {
  return replaceHidden(text, (character) =>
    character === '\n' ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
