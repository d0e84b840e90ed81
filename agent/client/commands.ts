/** The actions of the command `client`. They print each step. The command line escapes what they print. */
import { join } from 'node:path'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { z } from 'zod'
import { REFUSALS, type RefusalCode } from '../operation/refusal.ts'
import type { Operation } from '../operation/operation.ts'
import { parseOperation } from '../operation/operations.ts'
import { DEPLOYMENTS, priceOf, type Mode } from '../payment/terms.ts'
import { parseJson } from '../rpc/read-body.ts'
import { fetchDocument } from './bounded-fetch.ts'
import { isSavedAnswer, readPayment, REPEAT_STATUSES, sendPayment, sendRequest, signPurchase } from './buy.ts'
import type { BuyerRuntime, PurchaseAnswer } from './buy.ts'
import { readPrivateKey } from './private-key.ts'
import { fileEntry, removeOldTemporaryFiles } from './folder-storage.ts'
import { readPurchase, writePurchase, type Purchase } from './purchase-file.ts'
import { a2aRequest, restRequest } from './purchase-request.ts'
import {
  compareQuote,
  decodeQuote,
  isWithinLimit,
  metadataSchema,
  MICRO_USDC_PER_USDC,
  publishedTerms,
  type DecodedQuote,
} from './quote.ts'
import { verifyCard } from './verify-card.ts'

export interface ClientContext extends BuyerRuntime {
  /** Writes one line and escapes what could control a terminal. */
  print: (line: string) => void
  now: () => Date
}

/** `bought`: the answer and its receipt are here. `unknown`: a payment was sent and may have been settled. */
export type PurchaseResult = 'bought' | 'refused' | 'unknown'

interface BuyOptions {
  operation: string
  input: Record<string, unknown>
  /** Determines network, asset and domain, whatever the service says. */
  mode: Mode
  /** Micro-USDC. By default the price of the operation in this mode (contract 5.2.1). */
  amountMax: number | undefined
  baseUrl: string
  keyFile: string
  a2a: boolean
  /** The URL for A2A messages, if it is not on the host of the service. */
  a2aUrl: string | undefined
  purchasesDirectory: string
}

/** A payment that was sent, and its file. */
interface SentPayment {
  path: string
  purchase: Purchase
}

/** Buys one answer. Signs nothing if the quote is not the expected one. */
export async function buyAnswer(context: ClientContext, options: BuyOptions): Promise<PurchaseResult> {
  const { print, fetch, now } = context
  const parsed = parseOperation(options.operation, options.input)
  if (parsed.kind === 'invalid') {
    print([parsed.fault.field ?? 'the request:', parsed.fault.rule].join(' '))
    return 'refused'
  }
  const { operation } = parsed

  const request = options.a2a ? await a2aRequest(options, operation, fetch) : restRequest(options.baseUrl, operation)
  const unpaid = await sendRequest(context, request)
  if (unpaid.status !== 402 || unpaid.paymentRequired === null) {
    printBody(print, unpaid)
    print(nextStep(unpaid))
    return 'refused'
  }
  const quote = decodeQuote(unpaid.paymentRequired)
  if (!(await checkQuote(context, quote, operation, options))) return 'refused'

  const privateKey = await readPrivateKey(options.keyFile)
  await removeOldTemporaryFiles({ folder: options.purchasesDirectory, now: now() })
  const purchase = await signPurchase(request, quote, { privateKey, now: now() })
  const path = join(options.purchasesDirectory, `${readPayment(purchase).nonce}.json`)
  await writePurchase(fileEntry(path), purchase)
  print(`payment saved in ${path}`)
  return (await sendAndPrint(context, { path, purchase })).result
}

/** Sends the payment of a saved purchase again and compares the answer with the saved one. */
export async function retryPurchase(context: ClientContext, path: string): Promise<PurchaseResult> {
  const { print } = context
  const purchase = await readPurchase(fileEntry(path))
  const { method, url } = purchase.request
  print(`repeating ${method} ${url} with the payment of ${purchase.signed_at}`)
  const { result, answer } = await sendAndPrint(context, { path, purchase })
  if (result !== 'bought' || purchase.answer?.status !== 200) return result
  if (!answer || !isSavedAnswer(purchase.answer, answer)) {
    print('THE ANSWER DIFFERS from the saved one. The saved answer was kept.')
    return 'refused'
  }
  print('The answer and the transaction are the same as before: nothing was charged again.')
  return 'bought'
}

/** Returns false if no signature of the agent card is valid. */
export async function verifyCardSignature({ print, fetch }: ClientContext, baseUrl: string): Promise<boolean> {
  const kid = await verifyCard(baseUrl, fetch)
  print(kid === undefined ? 'The agent card has no valid signature.' : `The agent card is signed by ${kid}`)
  return kid !== undefined
}

/** Prints the quote and its checks. Returns whether all of them passed. */
async function checkQuote(
  { print, fetch }: ClientContext,
  quote: DecodedQuote,
  operation: Operation,
  { mode, baseUrl, amountMax }: Pick<BuyOptions, 'mode' | 'baseUrl' | 'amountMax'>,
): Promise<boolean> {
  const { amount, network, payTo } = quote.requirements
  const deployment = DEPLOYMENTS[mode]
  const price = `${Number(amount) / MICRO_USDC_PER_USDC} USDC`
  print(`The service asks ${price} on ${network}, paid to ${payTo}. The quote says:`)
  const { access } = await fetchDocument(fetch, `${baseUrl}/api/v1/meta`, metadataSchema)
  const limit = amountMax ?? priceOf(deployment, operation.operation)
  const checks = [
    ...compareQuote(quote, publishedTerms(baseUrl, operation, { deployment, access })),
    { name: 'limit', value: `${limit} micro-USDC`, passed: isWithinLimit(quote, limit) },
  ]
  for (const { name, value, passed } of checks) print(`  ${name.padEnd(9)}${value}  ${passed ? 'ok' : 'DIFFERS'}`)
  const failed = new Set(checks.flatMap(({ name, passed }) => (passed ? [] : [name])))
  if (failed.size === 0) return true
  print(`The quote differs from what is expected on ${mode}: ${[...failed].join(', ')}. Nothing was signed.`)
  if (failed.has('limit')) print('To pay more than the limit, add --max-amount.')
  if (failed.has('network')) print('To pay on another network, add --mode.')
  return false
}

async function sendAndPrint(
  context: ClientContext,
  sent: SentPayment,
): Promise<{ result: PurchaseResult; answer?: PurchaseAnswer }> {
  try {
    const answer = await sendPayment(context, fileEntry(sent.path), sent.purchase)
    return { result: printPaidAnswer(context.print, answer, sent), answer }
  } catch (cause) {
    context.print(cause instanceof Error ? cause.message : 'No answer arrived')
    return { result: printUnknown(context.print, sent) }
  }
}

/** Prints the answer to a payment, its charge and what to do next. */
function printPaidAnswer(print: ClientContext['print'], answer: PurchaseAnswer, sent: SentPayment): PurchaseResult {
  printBody(print, answer)
  const { network, payer, validBefore } = readPayment(sent.purchase)
  if (answer.status === 200) {
    const transaction = readTransaction(answer.paymentResponse, { network, payer })
    if (transaction === undefined) {
      print('The answer has no valid receipt of this payment.')
      return printUnknown(print, sent)
    }
    print(`paid by ${payer} on ${network} in transaction ${transaction}`)
    return 'bought'
  }
  if (REPEAT_STATUSES.has(answer.status)) return printUnknown(print, sent)
  const code = readCode(answer)
  if (code !== undefined && REFUSALS[code].charged === 'earlier') {
    print('The service states that this payment was settled before, and that it has no answer for it.')
    print(`Do not sign another one. Keep ${sent.path} and contact the operator of the service.`)
    return 'unknown'
  }
  // A refusal after a payment is only a statement: whoever has the payment can settle it until it expires.
  print(`The service states that it did not charge this payment${describeCode(answer)}.`)
  print(`The payment can be settled until ${validBefore.toISOString()}. Do not sign another one before that time.`)
  print(`To send the same payment again: --retry ${sent.path}`)
  return 'refused'
}

function printUnknown(print: ClientContext['print'], { path }: SentPayment): PurchaseResult {
  print('The outcome is not known. Keep the payment, send it again, and do not sign another one.')
  print(`To send the same payment again: --retry ${path}`)
  return 'unknown'
}

/** The data of an A2A answer is in the first part of its message. */
const a2aAnswerSchema = z.object({
  result: z.object({ message: z.object({ parts: z.tuple([z.object({ data: z.unknown() })]) }) }),
})

function printBody(print: ClientContext['print'], { status, body }: PurchaseAnswer): void {
  print(`HTTP ${status}`)
  const json = parseJson(body)
  if (json === undefined) return print('The body is not JSON.')
  const data = a2aAnswerSchema.safeParse(json).data?.result.message.parts[0].data ?? json
  for (const line of JSON.stringify(data, null, 2).split('\n')) print(line)
}

/** The advice for the answer to a request without a payment. */
function nextStep(answer: PurchaseAnswer): string {
  const code = readCode(answer)
  if (code !== undefined) {
    const { charged, advice } = REFUSALS[code]
    return `charged: ${charged}. ${advice}`
  }
  if (answer.status === 200) return 'The answer was free.'
  if (REPEAT_STATUSES.has(answer.status)) return 'The service failed. Nothing was signed.'
  return 'The service refused the request. Change it before you try again.'
}

function describeCode(answer: PurchaseAnswer): string {
  const code = readCode(answer)
  return code === undefined ? '' : ` (${code})`
}

/** The error code, if it is one of this contract. */
function readCode({ body }: PurchaseAnswer): RefusalCode | undefined {
  const code = z.object({ error: z.object({ code: z.string() }) }).safeParse(parseJson(body)).data?.error.code
  return code !== undefined && Object.hasOwn(REFUSALS, code) ? (code as RefusalCode) : undefined
}

const receiptSchema = z.object({
  success: z.literal(true),
  transaction: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
  network: z.string(),
  payer: z.string().optional(),
})

/** The transaction of a receipt. Undefined if it is not a receipt of this payment. */
function readTransaction(header: string | null, expected: { network: string; payer: string }): string | undefined {
  const receipt = receiptSchema.safeParse(header === null ? undefined : decodeReceipt(header)).data
  if (!receipt || receipt.network !== expected.network) return undefined
  const payer = receipt.payer ?? expected.payer
  return payer.toLowerCase() === expected.payer.toLowerCase() ? receipt.transaction : undefined
}

/** Undefined if the header is not base64 JSON. */
function decodeReceipt(header: string): unknown {
  try {
    return decodePaymentResponseHeader(header)
  } catch {
    return undefined
  }
}
