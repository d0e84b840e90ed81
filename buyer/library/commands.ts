/** The actions of the command `client`. The answer alone is on stdout, so that other programs can read it. */
import { stat } from 'node:fs/promises'
import * as z from 'zod'
import { itemsOf, type Operation } from '../../agent/operation/operation.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { isSameAddress } from '../../agent/payment/accounts.ts'
import { DEPLOYMENTS, amountOf } from '../../agent/payment/terms.ts'
import { readAnswer, readSettlementResponse } from '../../agent/payment/receipt/read.ts'
import { escapeJson } from '../../base/hidden.ts'
import { errorCode } from '../../base/error-code.ts'
import { parseJson } from '../../base/read-body.ts'
import { EXIT_USAGE, type CommandContext, type CommandResult } from '../../agent/command-line/context.ts'
import { showUsdc } from '../amounts.ts'
import { describeFailure, FAUCET, readDataError, type Limits } from '../failure.ts'
import { toReadable, toTable } from '../readable-answer.ts'
import { describeOtherUrl, type Target } from '../target.ts'
import { openAuthorizationCheck } from './authorization-state.ts'
import { completePurchase, type BoughtAnswer } from './buy.ts'
import { conclude, openBuyer } from './open-buyer.ts'
import { buyAnswer } from './methods.ts'
import { fileEntry, folderStorage } from './folder-storage.ts'
import { EXIT_UNDELIVERED, exitStatusOf, OUTCOMES, toMoment } from './outcome.ts'
import { createPrivateKey, readPrivateKey } from './private-key.ts'
import { PurchaseError } from './purchase-error.ts'
import { findPurchase, markDelivered, NO_FILE, readPayment, readPurchase, type Purchase } from './purchase-file.ts'
import { Progress } from './progress.ts'
import { readAll, type ListedPurchase } from './purchase-state.ts'
import { a2aRequest, requestedOperation, restRequest } from './purchase-request.ts'
import { fetchReceiver } from './quote.ts'
import { signerOf } from './signer.ts'
import type { OnStep } from './step.ts'
import { purchaseJson } from './purchase-list.ts'
import { locationOf, type BuyerStorage } from './storage.ts'
import { purchasedReceipt } from './verify-purchase.ts'

type ReportOptions = Pick<Target, 'json' | 'verbose'>

interface BuyOptions extends Target {
  operation: Operation
  /** Only says the price. */
  isDryRun?: boolean
}

/** Buys one answer. An open payment is sent again, an unprinted answer is printed, and a printed one is bought anew. */
export async function purchase(context: CommandContext, options: BuyOptions): Promise<CommandResult> {
  const { fetch } = context
  const { operation, mode, baseUrl, purchasesDirectory: folder, readAuthorization } = options
  const price = amountOf({ mode }, operation)
  if (options.isDryRun) {
    const [items, amount, { network }] = [itemsOf(operation).length, showUsdc(price), DEPLOYMENTS[mode]]
    if (context.isJson) context.printJson({ items, amount, network })
    context.note(`${items} items cost ${amount} USDC on ${network}.`)
    return true
  }
  const key = await readPrivateKey(options.keyFile)
  const { amountMax = price } = options
  const buy = openBuyer({
    url: baseUrl,
    mode,
    key,
    folder,
    expected: {
      payTo: () => fetchReceiver(fetch, baseUrl),
      amountMax,
      amountPerDayMax: options.amountPerDayMax,
    },
    maxAgeSeconds: 0,
    readAuthorization,
    onStep: showSteps(context, options),
    marks: 'caller',
    isNewPayment: options.newPayment,
    runtime: context,
  })
  const request = options.a2a ? await a2aRequest(options, operation, fetch) : restRequest(baseUrl, operation)
  const signal = context.interrupted()
  return report(
    context,
    { ...options, key, operation: operation.definition.name, amountMax },
    buyAnswer(buy, request, { signal }),
  )
}

/** Says the price, where the payment is, and what the buyer waits for. */
function showSteps(
  { note }: CommandContext,
  { operation: { definition }, mode, verbose }: Pick<BuyOptions, 'operation' | 'mode' | 'verbose'>,
): OnStep {
  return (step) => {
    if (step.kind === 'returned')
      note(
        `This answer was bought at ${toMoment(new Date(step.signedAt))} and not printed. It is printed now, and nothing is charged.`,
      )
    if (step.kind === 'left')
      note(
        `An answer of ${toMoment(new Date(step.signedAt))} was not printed and is more than a day old: it is in ${step.file}.`,
      )
    if (step.kind === 'resumed')
      note(
        `The earlier payment of ${toMoment(new Date(step.signedAt))} in ${step.file} is sent again, and charged at most once.`,
      )
    if (step.kind === 'stored') note(`${step.payer} pays. The payment is saved in ${step.file} before it is sent.`)
    if (step.kind === 'waiting') {
      const { code, status } = step.answer ?? {}
      note(`${code ?? status ?? 'No answer'}. The same payment is sent again in ${step.seconds} s.`)
    }
    if (step.kind !== 'quoted') return
    const { amount, network, payTo } = step.quote
    note(`The service asks ${showUsdc(amount)} USDC on ${network}, paid to ${payTo}. ${definition.tool.charge}`)
    for (const { name, value, passed } of step.checks)
      if (verbose || !passed) note(`  ${name.padEnd(9)}${value}  ${passed ? 'ok' : 'DIFFERS'}`)
    const host = step.checks.find(({ name, passed }) => name === 'host' && !passed)
    const advice = host && describeOtherUrl(host.value)
    if (advice !== undefined) note(advice)
    const isWrong = (checked: string) => step.checks.some(({ name, passed }) => name === checked && !passed)
    const other = mode === 'testnet' ? 'mainnet' : 'testnet'
    if (isWrong('network') && network === DEPLOYMENTS[other].network)
      note(`The service sells on ${other}: to pay there, use --mode ${other}.`)
  }
}

/** Sends the payment of a saved purchase again and compares the answer with the saved one. */
export async function retryPurchase(
  context: CommandContext,
  path: string,
  { rpc, ...options }: ReportOptions & { rpc?: string },
): Promise<CommandResult> {
  const { note, fetch } = context
  const entry = fileEntry(path)
  const saved = await findPurchase(entry).catch((cause: unknown) => cause as PurchaseError)
  if (saved === undefined) throw new Error(`${path} does not exist`)
  if (saved instanceof PurchaseError)
    return report(context, { ...options, operation: undefined }, Promise.reject(saved))
  const { request } = saved
  note(`repeating ${request.method} ${request.url} with the payment of ${toMoment(new Date(saved.signed_at))}`)
  const isPaid = saved.answer?.status === 200
  const progress = new Progress()
  progress.stored(path)
  const repeat = async () => {
    const answer = await completePurchase({ request, entry, runtime: context }, saved)
    const node = rpc === undefined ? undefined : { url: rpc, asset: readPayment(saved).asset }
    const readAuthorization = node && openAuthorizationCheck(fetch, node)
    if (!isPaid || isSame(saved, answer)) return conclude(request, answer, { readAuthorization, runtime: context })
    const text = `${answer.status}: THE ANSWER DIFFERS from the saved one, which was kept`
    throw new PurchaseError('answer_unexpected', text, { file: path })
  }
  const operation = requestedOperation(request, OPERATIONS)?.definition.name
  const repeated = progress.wait(buyAnswer(repeat, request), context.interrupted())
  const result = await report(context, { ...options, operation }, repeated)
  if (isPaid && result === true)
    note('The answer and the transaction are the same as before: nothing was charged again.')
  return result
}

/** The settlement response of an answer that was saved without a receipt can differ. */
function isSame(saved: Purchase, { status, body, paymentResponse }: BoughtAnswer): boolean {
  if (saved.answer?.status !== status || saved.answer.body !== body) return false
  return saved.answer.payment_response === paymentResponse || purchasedReceipt(saved) === undefined
}

/** What a list has bought is beside its output. */
const LIST_SUFFIX = '.purchases'

/**
 * Lists the purchases of a folder, the oldest first. `verify` reads their files.
 * @param path the folder, or the output of a list
 */
export async function printPurchases(context: CommandContext, path: string): Promise<void> {
  const { print, printJson, note, now, isJson } = context
  const isOfList = (await stat(`${path}${LIST_SUFFIX}`).catch(() => undefined))?.isDirectory() ?? false
  const folder = isOfList ? `${path}${LIST_SUFFIX}` : path
  const list = folder.endsWith(LIST_SUFFIX) ? folder.slice(0, -LIST_SUFFIX.length) : undefined
  const storage = folderStorage(folder)
  const { listed: purchases, damaged } = await readAll(storage, now())
  if (isJson) printJson(purchases.map((each) => listedJson(storage, each, list)))
  else if (purchases.length === 0) note(`${folder} has no purchases.`)
  else {
    if (list !== undefined) note(`The purchases of the list ${list}.`)
    const rows = purchases.map((each) => [
      toMoment(new Date(each.purchase.signed_at)),
      each.operation?.definition.name ?? 'unknown',
      subjectOf(each),
      `${showUsdc(each.amount)} USDC`,
      each.outcome.kind,
      storage.locate(each.name),
    ])
    for (const line of toTable(rows, ['time', 'operation', 'for', 'amount', 'outcome', 'file'])) print(line)
  }
  for (const name of damaged) note(`${storage.locate(name)} cannot be read. It may hold a payment that was sent.`)
}

/** As the library has it, with the amount in USDC, the company and the list. */
function listedJson(storage: BuyerStorage, listed: ListedPurchase, list: string | undefined) {
  const { company_number, legal_name } = companyOf(listed.purchase) ?? {}
  const company = company_number === undefined ? null : { company_number, legal_name }
  return { ...purchaseJson(storage, listed), amount: showUsdc(listed.amount), company, list }
}

/** What was asked for, and the company that the answer names. */
function subjectOf({ purchase: saved, operation }: ListedPurchase): string {
  if (!operation) return ''
  const items = itemsOf(operation)
  const company = companyOf(saved)
  const { company_number, name, q, date, since } = operation.input as Record<string, string | undefined>
  if (items.length > 1) return `${items.length} of ${items[0]?.definition.name}`
  if (company) return [company.company_number, company.legal_name, date].filter(Boolean).join(' ')
  return [company_number, name ?? q, date, since && `since ${since}`].filter(Boolean).join(' ')
}

const companySchema = z.object({ company_number: z.string(), legal_name: z.string() })
const namingSchema = z.union([
  z.object({ company: companySchema }),
  z.object({ match: z.object({ company: companySchema }) }).transform(({ match }) => match),
])

/** The company that a paid answer names. */
function companyOf(saved: Purchase) {
  if (purchasedReceipt(saved) === undefined) return undefined
  return namingSchema.safeParse(readAnswer(saved.answer?.body ?? '')).data?.company
}

export async function printAddress(
  { print, note, isJson, printJson }: CommandContext,
  keyFile: string,
  { isNew }: { isNew: boolean },
): Promise<void> {
  if (isNew) await createPrivateKey(keyFile)
  const { address } = await signerOf(await readPrivateKey(keyFile))
  if (isJson) printJson({ address })
  else print(address)
  note(`Send USDC to this address. ${FAUCET}`)
}

type Report = ReportOptions & Limits & { operation: string | undefined; key?: `0x${string}` }

/** Prints the answer, or why there is none. */
async function report(
  context: CommandContext,
  options: Report,
  buying: ReturnType<typeof buyAnswer>,
): Promise<CommandResult> {
  const { note, fail } = context
  try {
    const bought = await buying
    // Nothing may fail once the answer is delivered.
    const { network, payer, amount } = readPayment(await readPurchase(bought.entry))
    printBody(context, options, bought)
    const file = locationOf(bought.entry)
    try {
      await context.flush()
    } catch (cause) {
      fail({
        message:
          `The answer could not be written (${errorCode(cause) ?? 'unknown'}). It is in ${file}. It is sold: the same ` +
          'command prints it again, and nothing is charged.',
        code: 'output_failed',
      })
      return EXIT_UNDELIVERED
    }
    await markDelivered(bought.entry, context.now())
    const transaction = readSettlementResponse(bought.paymentResponse ?? '')?.transaction
    note(`${showUsdc(amount)} USDC paid by ${payer} on ${network} in transaction ${transaction}`)
    const isChecked = bought.receipt === 'valid'
    note(isChecked ? 'The receipt is valid.' : 'The receipt was not checked: the key set cannot be read.')
    return true
  } catch (cause) {
    if (!(cause instanceof PurchaseError)) throw cause
    if (cause.code === 'aborted') context.endAtOnce()
    return reportFailure(context, options, cause)
  }
}

async function reportFailure(context: CommandContext, options: Report, error: PurchaseError): Promise<CommandResult> {
  const { code, answer, file, outcome } = error
  const saved = file === undefined ? undefined : await findPurchase(fileEntry(file)).catch(() => undefined)
  if (options.verbose && saved?.answer)
    printBody({ ...context, print: context.note }, { ...options, json: true }, saved.answer)
  const dataError = answer && saved && readDataError(saved)
  if (saved && answer?.reason === 'insufficient_funds') await noteOtherKey(context, options, saved)
  const failure = describeFailure(error, { ...options, saved, now: context.now() })
  context.fail({ ...failure, isAnswer: dataError !== undefined && context.isTerminal !== true })
  // A path that cannot be that of a purchase is a wrong argument.
  if (code === 'request_unsupported' || NO_FILE.has(errorCode(error.cause))) return EXIT_USAGE
  // The newest payment has its answer already, and nothing was signed.
  if (code === 'new_payment_refused' && outcome.kind === 'sold') return false
  if (dataError) return OUTCOMES.not_sold_later.exitStatus
  // A charge that only the chain shows has no answer yet.
  return exitStatusOf(outcome.kind === 'sold' ? { kind: 'unknown' } : outcome)
}

async function noteOtherKey({ note }: CommandContext, { key }: Report, saved: Purchase): Promise<void> {
  const address = key && (await signerOf(key)).address
  if (address !== undefined && !isSameAddress(address, readPayment(saved).payer))
    note(
      `The key file has the address ${address}: to pay with it now, add --new-payment. ` +
        'Both payments can be charged if the first address gets the money before that time.',
    )
}

function printBody(
  { print, note, isTerminal }: CommandContext,
  { operation, json }: Report,
  { status, body }: Pick<BoughtAnswer, 'status' | 'body'>,
) {
  // A body that is JSON is shown, also if it is no answer.
  const answer = readAnswer(body) ?? parseJson(body)
  if (answer === undefined) return note(`HTTP ${status}. The body is not JSON.`)
  const isReadable = isTerminal && !json && operation !== undefined
  const lines =
    (isReadable && toReadable(operation, answer)) || JSON.stringify(answer, null, 2).split('\n').map(escapeJson)
  for (const line of lines) print(line)
}
