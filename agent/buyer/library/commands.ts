/** The actions of the command `client`. They print each step. The command line escapes what they print. */
import { join } from 'node:path'
import { REFUSALS } from '../../operation/refusal.ts'
import { parseOperation, type Operation } from '../../operation/operation.ts'
import { OPERATIONS } from '../../operation/operations.ts'
import { resourceUrl } from '../../operation/resource.ts'
import { DEPLOYMENTS, MICRO_USDC_PER_USDC, amountOf, type Mode } from '../../payment/terms.ts'
import { readAnswer, readSettlementResponse } from '../../payment/receipt/read.ts'
import { parseJson } from '../../../store/base/read-body.ts'
import { isSavedAnswer, REPEAT_STATUSES, type BuyerRuntime, type PurchaseAnswer } from './buy.ts'
import { buyIntoFile, completePurchase, type BoughtAnswer } from './buy-into-file.ts'
import { fileEntry } from './folder-storage.ts'
import { readPrivateKey } from './private-key.ts'
import { describeAnswer, PurchaseError } from './purchase-error.ts'
import { readPayment, readPurchase } from './purchase-file.ts'
import { a2aRequest, restRequest } from './purchase-request.ts'
import { compareQuote, fetchReceiver, isWithinLimit, type DecodedQuote } from './quote.ts'
import { verifyCard } from './verify-card.ts'

interface ClientContext extends BuyerRuntime {
  /** Writes one line and escapes what could control a terminal. */
  print: (line: string) => void
}

/** Whether the answer and its receipt are here. `outcome unknown`: a payment was sent and may have been settled. */
type PurchaseResult = boolean | 'outcome unknown'

interface BuyOptions {
  /** Its name. */
  operation: string
  input: Record<string, unknown>
  /** Determines network, asset and domain, whatever the service says. */
  mode: Mode
  /** Micro-USDC. By default the price of the operation in this mode (contract 5.2.1). */
  amountMax?: number | undefined
  baseUrl: string
  keyFile: string
  a2a?: boolean
  /** The URL for A2A messages, if it is not on the host of the service. */
  a2aUrl?: string | undefined
  purchasesDirectory: string
}

/** Buys one answer. Signs nothing if the quote is not the expected one. */
export async function buyAnswer(context: ClientContext, options: BuyOptions): Promise<PurchaseResult> {
  const { print, fetch, now } = context
  const { purchasesDirectory: folder } = options
  const definition = OPERATIONS.find(({ name }) => name === options.operation)
  if (!definition) throw new Error(`There is no operation ${options.operation}`)
  const parsed = parseOperation(definition, options.input)
  if (parsed.kind === 'invalid') {
    print([parsed.fault.field ?? 'the request:', parsed.fault.rule].join(' '))
    return false
  }
  const { operation } = parsed
  const privateKey = await readPrivateKey(options.keyFile)
  const request = options.a2a ? await a2aRequest(options, operation, fetch) : restRequest(options.baseUrl, operation)
  const path = join(folder, `${now().toISOString().replaceAll(':', '')}-${crypto.randomUUID()}.json`)
  const entry = fileEntry(path)
  await entry.storage.removeLeftovers?.(now())
  const approve = async (quote: DecodedQuote) => {
    await checkQuote(context, quote, operation, options)
    print(`The payment is saved in ${path} before it is sent.`)
  }
  const purchase = { request, entry, privateKey, approve, receipts: 'verify', runtime: context } as const
  return report(context, path, await attempt(buyIntoFile(purchase)))
}

/** Sends the payment of a saved purchase again and compares the answer with the saved one. */
export async function retryPurchase(context: ClientContext, path: string): Promise<PurchaseResult> {
  const { print } = context
  const entry = fileEntry(path)
  const purchase = await readPurchase(entry)
  const { request } = purchase
  print(`repeating ${request.method} ${request.url} with the payment of ${purchase.signed_at}`)
  const repeated = await attempt(completePurchase({ request, entry, receipts: 'verify', runtime: context }, purchase))
  const result = await report(context, path, repeated)
  if (result !== true || purchase.answer?.status !== 200) return result
  if (repeated instanceof PurchaseError || !isSavedAnswer(purchase, repeated)) {
    print('THE ANSWER DIFFERS from the saved one. The saved answer was kept.')
    return false
  }
  print('The answer and the transaction are the same as before: nothing was charged again.')
  return true
}

export async function verifyCardSignature({ print, fetch }: ClientContext, baseUrl: string): Promise<boolean> {
  const kid = await verifyCard(baseUrl, fetch)
  print(kid === undefined ? 'The agent card has no valid signature.' : `The agent card is signed by ${kid}`)
  return kid !== undefined
}

/** Prints the quote and its checks. Throws unless all of them pass. */
async function checkQuote(
  { print, fetch }: ClientContext,
  quote: DecodedQuote,
  operation: Operation,
  { mode, baseUrl, amountMax }: Pick<BuyOptions, 'mode' | 'baseUrl' | 'amountMax'>,
): Promise<void> {
  const { amount, network, payTo } = quote.requirements
  const deployment = DEPLOYMENTS[mode]
  const price = `${Number(amount) / MICRO_USDC_PER_USDC} USDC`
  print(`The service asks ${price} on ${network}, paid to ${payTo}. ${operation.definition.tool.charge}`)
  print('The quote says:')
  const resource = resourceUrl(baseUrl, operation)
  const limit = amountMax ?? amountOf({ mode }, operation)
  const checks = [
    ...compareQuote(quote, { ...deployment, resource, payTo: await fetchReceiver(fetch, baseUrl) }),
    { name: 'amount', value: `${amount} micro-USDC, at most ${limit}`, passed: isWithinLimit(quote, limit) },
  ]
  for (const { name, value, passed } of checks) print(`  ${name.padEnd(9)}${value}  ${passed ? 'ok' : 'DIFFERS'}`)
  const failed = checks.flatMap(({ name, passed }) => (passed ? [] : [name]))
  if (failed.length === 0) return
  const advice = Object.entries(QUOTE_ADVICE).flatMap(([name, text]) => (failed.includes(name) ? [text] : []))
  const message = `The quote differs from what is expected on ${mode}: ${failed.join(', ')}. Nothing was signed.`
  throw new PurchaseError('quote_unexpected', [message, ...advice].join(' '))
}

/** By the check that failed. */
const QUOTE_ADVICE = {
  amount: 'To pay more than the limit, add --max-amount.',
  network: 'To pay on another network, add --mode.',
}

/** The answer, or the error after a payment. Other errors end the command. */
async function attempt(purchase: Promise<BoughtAnswer>): Promise<BoughtAnswer | PurchaseError> {
  return purchase.catch((cause: unknown) => {
    if (cause instanceof PurchaseError && cause.file !== undefined) return cause
    throw cause
  })
}

async function report(
  { print }: ClientContext,
  path: string,
  bought: BoughtAnswer | PurchaseError,
): Promise<PurchaseResult> {
  if (!(bought instanceof PurchaseError)) return printAnswer(print, bought, path)
  if (bought.code === 'outcome_unknown') {
    print(bought.cause instanceof Error ? bought.cause.message : bought.message)
    return printUnknown(print, path)
  }
  print(`${bought.message}. ${bought.advice}`)
  return 'outcome unknown'
}

/** Prints the answer, its charge and what to do next. */
async function printAnswer(print: ClientContext['print'], answer: BoughtAnswer, path: string): Promise<PurchaseResult> {
  printBody(print, answer)
  if (!answer.isPaymentSent) {
    print(nextStep(answer))
    return false
  }
  const purchase = await readPurchase(fileEntry(path))
  const { network, payer, validBefore } = readPayment(purchase)
  if (answer.status === 200) {
    const transaction =
      answer.receipt !== 'missing' && readSettlementResponse(answer.paymentResponse ?? '')?.transaction
    if (!transaction) {
      print('The answer has no receipt of this payment.')
      return printUnknown(print, path)
    }
    print(`paid by ${payer} on ${network} in transaction ${transaction}`)
    print(
      answer.receipt === 'valid' ? 'The receipt is valid.' : 'The receipt was not checked: the key set cannot be read.',
    )
    return true
  }
  const { code } = describeAnswer(answer)
  if (REPEAT_STATUSES.has(answer.status)) return printUnknown(print, path)
  if (code !== undefined && REFUSALS[code].charged === 'earlier') {
    print('The service states that this payment was settled before, and that it has no answer for it.')
    print(`Do not sign another one. Keep ${path} and contact the operator of the service.`)
    return 'outcome unknown'
  }
  // A refusal proves nothing: any holder of the authorization can settle it until it expires.
  print(`The service states that it did not charge this payment${code === undefined ? '' : ` (${code})`}.`)
  print(`The payment can be settled until ${validBefore.toISOString()}. Do not sign another one before that time.`)
  print(`To send the same payment again: --retry ${path}`)
  return false
}

function printUnknown(print: ClientContext['print'], path: string): PurchaseResult {
  print('The outcome is not known. Keep the payment, send it again, and do not sign another one.')
  print(`To send the same payment again: --retry ${path}`)
  return 'outcome unknown'
}

function printBody(print: ClientContext['print'], { status, body }: PurchaseAnswer): void {
  print(`HTTP ${status}`)
  // A body that is JSON is shown, also if it has no valid answer.
  const answer = readAnswer(body) ?? parseJson(body)
  if (answer === undefined) return print('The body is not JSON.')
  for (const line of JSON.stringify(answer, null, 2).split('\n')) print(line)
}

/** The advice for the answer to a request without a payment. */
function nextStep(answer: PurchaseAnswer): string {
  const { code } = describeAnswer(answer)
  if (code !== undefined) {
    const { charged, advice } = REFUSALS[code]
    return `charged: ${charged}. ${advice}`
  }
  if (answer.status === 200) return 'The answer was free.'
  if (REPEAT_STATUSES.has(answer.status)) return 'The service failed. Nothing was signed.'
  return 'The service refused the request. Change it before you try again.'
}
