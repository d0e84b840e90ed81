/** The actions of the command `client`. The answer alone is on stdout, so that other programs can read it. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { REFUSALS } from '../../operation/refusal.ts'
import { parseOperation, type Operation } from '../../operation/operation.ts'
import { OPERATIONS } from '../../operation/operations.ts'
import { resourceUrl } from '../../operation/resource.ts'
import { DEPLOYMENTS, amountOf, toUsdc, type Mode } from '../../payment/terms.ts'
import { readAnswer, readSettlementResponse } from '../../payment/receipt/read.ts'
import { escapeJson } from '../../../store/base/hidden.ts'
import { parseJson } from '../../../store/base/read-body.ts'
import { EXIT_USAGE, type CommandContext, type CommandResult } from '../../command-line/context.ts'
import { toReadable, toTable } from '../../command-line/readable-answer.ts'
import type { ReadAuthorization } from './authorization-state.ts'
import { buyIntoFile, completePurchase, isSavedAnswer, type BoughtAnswer, type PurchaseAnswer } from './buy.ts'
import { fileEntry, folderStorage } from './folder-storage.ts'
import { createPrivateKey, readPrivateKey } from './private-key.ts'
import { describeAnswer, PurchaseError } from './purchase-error.ts'
import { readPayment, readPurchase } from './purchase-file.ts'
import { chargeOf, listPurchases } from './purchase-state.ts'
import { a2aRequest, requestedOperation, restRequest } from './purchase-request.ts'
import { compareQuote, fetchReceiver, isWithinLimit, type DecodedQuote } from './quote.ts'
import { signerOf } from './signer.ts'
import { verifyCard } from './verify-card.ts'

type ClientContext = Pick<CommandContext, 'fetch' | 'sleep' | 'now' | 'print' | 'note' | 'isTerminal'>

/** What is shown, and how a charge is found out. */
interface ReportOptions {
  /** Prints the body also on a terminal. */
  json?: boolean | undefined
  /** Prints the quote and the body of a refusal. */
  verbose?: boolean | undefined
  readAuthorization?: ReadAuthorization | undefined
}

interface BuyOptions extends ReportOptions {
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
export async function buyAnswer(context: ClientContext, options: BuyOptions): Promise<CommandResult> {
  const { note, fetch, now } = context
  const { purchasesDirectory: folder } = options
  const definition = OPERATIONS.find(({ name }) => name === options.operation)
  if (!definition) throw new Error(`There is no operation ${options.operation}`)
  const parsed = parseOperation(definition, options.input)
  if (parsed.kind === 'invalid') {
    note([parsed.fault.field ?? 'the request:', parsed.fault.rule].join(' '))
    return EXIT_USAGE
  }
  const { operation } = parsed
  const key = await signerOf(await readPrivateKey(options.keyFile))
  const request = options.a2a ? await a2aRequest(options, operation, fetch) : restRequest(options.baseUrl, operation)
  const path = join(folder, `${now().toISOString().replaceAll(':', '')}-${crypto.randomUUID()}.json`)
  const entry = fileEntry(path)
  await entry.storage.removeLeftovers?.(now())
  const approve = async (quote: DecodedQuote) => {
    await checkQuote(context, quote, operation, options)
    note(`${key.address} pays. The payment is saved in ${path} before it is sent.`)
  }
  const purchase = { request, entry, key, approve, runtime: context }
  return report(context, { ...options, path, operation: definition.name }, await attempt(buyIntoFile(purchase)))
}

/** Sends the payment of a saved purchase again and compares the answer with the saved one. */
export async function retryPurchase(
  context: ClientContext,
  path: string,
  options: ReportOptions,
): Promise<CommandResult> {
  const { note } = context
  const entry = fileEntry(path)
  const purchase = await readPurchase(entry)
  const { request } = purchase
  note(`repeating ${request.method} ${request.url} with the payment of ${purchase.signed_at}`)
  const repeated = await attempt(completePurchase({ request, entry, runtime: context }, purchase))
  const operation = requestedOperation(request, OPERATIONS)?.definition.name
  const result = await report(context, { ...options, path, operation }, repeated)
  if (result !== true || purchase.answer?.status !== 200) return result
  if (repeated instanceof PurchaseError || !isSavedAnswer(purchase, repeated)) {
    note('THE ANSWER DIFFERS from the saved one. The saved answer was kept.')
    return false
  }
  note('The answer and the transaction are the same as before: nothing was charged again.')
  return true
}

/** Lists the purchases of a folder: time, operation, amount, state and file, the oldest first. */
export async function printPurchases({ print, now }: ClientContext, folder: string): Promise<void> {
  const storage = folderStorage(folder)
  const rows = (await listPurchases(storage, now())).map(({ name, purchase, operation, state, amount }) => [
    purchase.signed_at,
    operation?.definition.name ?? 'unknown',
    `${toUsdc(amount)} USDC`,
    state,
    storage.locate(name),
  ])
  for (const line of toTable(rows, ['time', 'operation', 'amount', 'state', 'file'])) print(line)
}

export async function printAddress(
  { print, note }: ClientContext,
  keyFile: string,
  { isNew }: { isNew: boolean },
): Promise<void> {
  if (isNew) await createPrivateKey(keyFile)
  print((await signerOf(await readPrivateKey(keyFile))).address)
  note(`Send USDC to this address. ${FAUCET}`)
}

/** The JSON object in a file. Undefined if it has none. */
export async function readInput(file: string): Promise<Record<string, unknown> | undefined> {
  const value = parseJson(await readFile(file, 'utf8'))
  return typeof value === 'object' && value !== null ? { ...value } : undefined
}

export async function verifyCardSignature({ print, fetch }: ClientContext, baseUrl: string): Promise<boolean> {
  const kid = await verifyCard(baseUrl, fetch)
  print(kid === undefined ? 'The agent card has no valid signature.' : `The agent card is signed by ${kid}`)
  return kid !== undefined
}

/** Throws unless all checks of the quote pass. Prints those that fail, with --verbose all of them. */
async function checkQuote(
  { note, fetch }: ClientContext,
  quote: DecodedQuote,
  operation: Operation,
  { mode, baseUrl, amountMax, verbose }: Pick<BuyOptions, 'mode' | 'baseUrl' | 'amountMax' | 'verbose'>,
): Promise<void> {
  const { amount, network, payTo } = quote.requirements
  const price = `${toUsdc(amount)} USDC`
  note(`The service asks ${price} on ${network}, paid to ${payTo}. ${operation.definition.tool.charge}`)
  const resource = resourceUrl(baseUrl, operation)
  const limit = amountMax ?? amountOf({ mode }, operation)
  const checks = [
    ...compareQuote(quote, { ...DEPLOYMENTS[mode], resource, payTo: await fetchReceiver(fetch, baseUrl) }),
    { name: 'amount', value: `${amount} micro-USDC, at most ${limit}`, passed: isWithinLimit(quote, limit) },
  ]
  for (const { name, value, passed } of checks)
    if (verbose || !passed) note(`  ${name.padEnd(9)}${value}  ${passed ? 'ok' : 'DIFFERS'}`)
  const failed = checks.flatMap(({ name, passed }) => (passed ? [] : [name]))
  if (failed.length === 0) return
  const other = mode === 'testnet' ? 'mainnet' : 'testnet'
  const advice = [
    `The quote differs from what is expected on ${mode}: ${failed.join(', ')}. Nothing was signed.`,
    ...(failed.includes('amount') ? ['To pay more than the limit, add --max-amount.'] : []),
    ...(network === DEPLOYMENTS[other].network
      ? [`The service sells on ${other}: to pay there, use --mode ${other}.`]
      : []),
  ]
  throw new PurchaseError('quote_unexpected', advice.join(' '))
}

/** The answer, or the error after a payment. Other errors end the command. */
async function attempt(purchase: Promise<BoughtAnswer>): Promise<BoughtAnswer | PurchaseError> {
  return purchase.catch((cause: unknown) => {
    if (cause instanceof PurchaseError && cause.file !== undefined) return cause
    throw cause
  })
}

type Report = ReportOptions & { path: string; operation: string | undefined }

async function report(
  context: ClientContext,
  options: Report,
  bought: BoughtAnswer | PurchaseError,
): Promise<CommandResult> {
  const { note } = context
  if (bought instanceof PurchaseError) {
    const isLost = bought.code === 'outcome_unknown'
    note(isLost && bought.cause instanceof Error ? bought.cause.message : `${bought.message}. ${bought.advice}`)
    return isLost ? reportUnknown(context, options) : 'outcome unknown'
  }
  if (bought.status !== 200) return reportRefusal(context, options, bought)
  printBody(context, options, bought)
  if (!bought.isPaymentSent) {
    note('The answer was free.')
    return false
  }
  const { network, payer } = readPayment(await readPurchase(fileEntry(options.path)))
  const transaction = bought.receipt !== 'missing' && readSettlementResponse(bought.paymentResponse ?? '')?.transaction
  if (!transaction) {
    note('The answer has no receipt of this payment.')
    return reportUnknown(context, options)
  }
  note(`paid by ${payer} on ${network} in transaction ${transaction}`)
  const isChecked = bought.receipt === 'valid'
  note(isChecked ? 'The receipt is valid.' : 'The receipt was not checked: the key set cannot be read.')
  return true
}

const FAUCET = 'Test USDC of Base Sepolia: https://faucet.circle.com.'

/** At most ten lines: the code, what it means, the paying address, what is charged, and what to do. */
async function reportRefusal(context: ClientContext, options: Report, answer: BoughtAnswer): Promise<CommandResult> {
  const { note, now } = context
  if (options.verbose) printBody({ ...context, print: note }, { ...options, json: true }, answer)
  const { status, code, reason } = describeAnswer(answer)
  const known = code === undefined ? undefined : REFUSALS[code]
  note(`${[status, code, reason].filter(Boolean).join(' ')}: ${known?.message ?? 'The service refused the request.'}`)
  if (!answer.isPaymentSent) {
    note(`charged: no. ${known?.advice ?? 'Nothing was signed.'}`)
    return false
  }
  const purchase = await readPurchase(fileEntry(options.path))
  const { payer, network, validBefore } = readPayment(purchase)
  note(`paying address: ${payer} on ${network}`)
  if (reason === 'insufficient_funds')
    note(`Send USDC to this address. ${network === DEPLOYMENTS.testnet.network ? FAUCET : ''}`)
  else if (known && status !== 402) note(known.advice)
  const charged = await chargeOf(purchase, now(), options.readAuthorization)
  // What the service states proves nothing: any holder of the authorization can settle it until it ends.
  const until = charged === 'unknown' ? ` The payment can be settled until ${validBefore.toISOString()}.` : ''
  note(`charged: ${charged}.${until} Do not sign another payment before it has ended.`)
  note(`To send the same payment again: --retry ${options.path}`)
  return charged === 'no' ? false : 'outcome unknown'
}

function reportUnknown({ note }: ClientContext, { path }: Report): CommandResult {
  note('The outcome is not known. Keep the payment, send it again, and do not sign another one.')
  note(`To send the same payment again: --retry ${path}`)
  return 'outcome unknown'
}

function printBody(
  { print, note, isTerminal }: ClientContext,
  { operation, json }: Report,
  { status, body }: PurchaseAnswer,
) {
  // A body that is JSON is shown, also if it has no valid answer.
  const answer = readAnswer(body) ?? parseJson(body)
  if (answer === undefined) return note(`HTTP ${status}. The body is not JSON.`)
  const isReadable = isTerminal && !json && operation !== undefined && isAnswer(operation, answer)
  const lines =
    (isReadable && toReadable(operation, answer)) || JSON.stringify(answer, null, 2).split('\n').map(escapeJson)
  for (const line of lines) print(line)
}

const isAnswer = (operation: string, answer: unknown) =>
  OPERATIONS.some(({ name, answerSchema }) => name === operation && answerSchema.safeParse(answer).success)
