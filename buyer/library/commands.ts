/** The actions of the command `client`. The answer alone is on stdout, so that other programs can read it. */
import { isDataError, REFUSALS } from '../../agent/operation/refusal.ts'
import { itemsOf, parseOperation, type OperationDefinition } from '../../agent/operation/operation.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { isSameAddress } from '../../agent/payment/accounts.ts'
import { DEPLOYMENTS, amountOf } from '../../agent/payment/terms.ts'
import { readAnswer, readSettlementResponse } from '../../agent/payment/receipt/read.ts'
import { escapeJson } from '../../store/base/hidden.ts'
import { errorCode } from '../../store/base/error-code.ts'
import { parseJson } from '../../store/base/read-body.ts'
import { EXIT_USAGE, type CommandContext, type CommandResult } from '../../agent/command-line/context.ts'
import { showUsdc } from '../amounts.ts'
import { toReadable, toTable } from '../readable-answer.ts'
import type { Target } from '../target.ts'
import { completePurchase, type BoughtAnswer } from './buy.ts'
import { conclude, openBuyer } from './open-buyer.ts'
import { buyAnswer } from './methods.ts'
import { fileEntry, folderStorage } from './folder-storage.ts'
import { describeOutcome, EXIT_UNDELIVERED, exitStatusOf, OUTCOMES, toMoment } from './outcome.ts'
import { createPrivateKey, readPrivateKey } from './private-key.ts'
import { PurchaseError, type ServiceAnswer } from './purchase-error.ts'
import {
  findPurchase,
  listNames,
  markDelivered,
  NO_FILE,
  readPayment,
  readPurchase,
  type Purchase,
} from './purchase-file.ts'
import { Progress } from './progress.ts'
import { decidingCode, listPurchases } from './purchase-state.ts'
import { a2aRequest, requestedOperation, restRequest } from './purchase-request.ts'
import { fetchReceiver } from './quote.ts'
import { signerOf } from './signer.ts'
import type { OnStep } from './step.ts'
import { locationOf } from './storage.ts'
import { purchasedReceipt } from './verify-purchase.ts'

type ReportOptions = Pick<Target, 'json' | 'verbose'> & Partial<Pick<Target, 'readAuthorization'>>

interface BuyOptions extends Target {
  definition: OperationDefinition
  input: Record<string, unknown>
  /** Only says the price. */
  isDryRun?: boolean
}

/** Buys one answer. An open payment for it is sent again; a finished purchase is bought anew. */
export async function purchase(context: CommandContext, options: BuyOptions): Promise<CommandResult> {
  const { note, fetch } = context
  const { definition, mode, baseUrl, purchasesDirectory: folder, readAuthorization } = options
  const parsed = parseOperation(definition, options.input)
  if (parsed.kind === 'invalid') {
    note([parsed.fault.field ?? 'the request:', parsed.fault.rule].join(' '))
    return EXIT_USAGE
  }
  const { operation } = parsed
  const price = amountOf({ mode }, operation)
  if (options.isDryRun) {
    note(`${itemsOf(operation).length} items cost ${showUsdc(price)} USDC on ${DEPLOYMENTS[mode].network}.`)
    return true
  }
  const key = await readPrivateKey(options.keyFile)
  const buy = openBuyer({
    url: baseUrl,
    mode,
    key,
    folder,
    expected: {
      payTo: () => fetchReceiver(fetch, baseUrl),
      amountMax: options.amountMax ?? price,
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
  return report(context, { ...options, key, operation: definition.name }, buyAnswer(buy, request, { signal }))
}

/** Says the price, where the payment is, and what the buyer waits for. */
function showSteps(
  { note, isTerminal = false }: CommandContext,
  { definition, mode, verbose }: Pick<BuyOptions, 'definition' | 'mode' | 'verbose'>,
): OnStep {
  return (step) => {
    if (step.kind === 'returned')
      note(`This answer was bought at ${step.signedAt} and not printed. It is printed now, and nothing is charged.`)
    if (step.kind === 'left')
      note(`An answer of ${step.signedAt} was not printed and is more than a day old: it is in ${step.file}.`)
    if (step.kind === 'stored') note(`${step.payer} pays. The payment is saved in ${step.file} before it is sent.`)
    if (step.kind === 'waiting' && isTerminal) {
      const { code, status } = step.answer ?? {}
      note(`${code ?? status ?? 'No answer'}. The same payment is sent again in ${step.seconds} s.`)
    }
    if (step.kind !== 'quoted') return
    const { amount, network, payTo } = step.quote
    note(`The service asks ${showUsdc(amount)} USDC on ${network}, paid to ${payTo}. ${definition.tool.charge}`)
    for (const { name, value, passed } of step.checks)
      if (verbose || !passed) note(`  ${name.padEnd(9)}${value}  ${passed ? 'ok' : 'DIFFERS'}`)
    const isWrong = (checked: string) => step.checks.some(({ name, passed }) => name === checked && !passed)
    if (isWrong('limit')) note('To pay more than the limit, add --max-amount.')
    const other = mode === 'testnet' ? 'mainnet' : 'testnet'
    if (isWrong('network') && network === DEPLOYMENTS[other].network)
      note(`The service sells on ${other}: to pay there, use --mode ${other}.`)
  }
}

/** Sends the payment of a saved purchase again and compares the answer with the saved one. */
export async function retryPurchase(
  context: CommandContext,
  path: string,
  options: ReportOptions,
): Promise<CommandResult> {
  const { note } = context
  const entry = fileEntry(path)
  const saved = await findPurchase(entry).catch((cause: unknown) => cause as PurchaseError)
  if (saved === undefined) throw new Error(`${path} does not exist`)
  if (saved instanceof PurchaseError)
    return report(context, { ...options, operation: undefined }, Promise.reject(saved))
  const { request } = saved
  note(`repeating ${request.method} ${request.url} with the payment of ${saved.signed_at}`)
  const isPaid = saved.answer?.status === 200
  const progress = new Progress()
  progress.stored(path)
  const repeat = async () => {
    const answer = await completePurchase({ request, entry, runtime: context }, saved)
    if (!isPaid || isSame(saved, answer)) return conclude(request, answer, { ...options, runtime: context })
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

/** Lists the purchases of a folder: time, operation, amount, state and file, the oldest first. */
export async function printPurchases({ print, note, now }: CommandContext, folder: string): Promise<void> {
  const storage = folderStorage(folder)
  const purchases = await listPurchases(storage, now())
  const rows = purchases.map(({ name, purchase: { signed_at }, operation, outcome, amount }) => [
    signed_at,
    operation?.definition.name ?? 'unknown',
    `${showUsdc(amount)} USDC`,
    outcome.kind,
    storage.locate(name),
  ])
  if (rows.length === 0) note(`${folder} has no purchases.`)
  else for (const line of toTable(rows, ['time', 'operation', 'amount', 'outcome', 'file'])) print(line)
  const listed = new Set(purchases.map(({ name }) => name))
  for (const name of await listNames(storage))
    if (!listed.has(name)) note(`${storage.locate(name)} cannot be read. It may hold a payment that was sent.`)
}

export async function printAddress(
  { print, note }: CommandContext,
  keyFile: string,
  { isNew }: { isNew: boolean },
): Promise<void> {
  if (isNew) await createPrivateKey(keyFile)
  print((await signerOf(await readPrivateKey(keyFile))).address)
  note(`Send USDC to this address. ${FAUCET}`)
}

type Report = ReportOptions & { operation: string | undefined; key?: `0x${string}` }

const FAUCET = 'Test USDC of Base Sepolia: https://faucet.circle.com.'

/** Prints the answer, or why there is none, in at most ten lines. */
async function report(
  context: CommandContext,
  options: Report,
  buying: ReturnType<typeof buyAnswer>,
): Promise<CommandResult> {
  const { note } = context
  try {
    const bought = await buying
    printBody(context, options, bought)
    const file = locationOf(bought.entry)
    try {
      await context.flush()
    } catch (cause) {
      note(`The answer could not be written (${errorCode(cause) ?? 'unknown'}). It is in ${file}.`)
      note('It is sold. The same command prints it again, and nothing is charged.')
      return EXIT_UNDELIVERED
    }
    await markDelivered(bought.entry, context.now())
    const { network, payer, amount } = readPayment(await readPurchase(bought.entry))
    const transaction = readSettlementResponse(bought.paymentResponse ?? '')?.transaction
    note(`${showUsdc(amount)} USDC paid by ${payer} on ${network} in transaction ${transaction}`)
    const isChecked = bought.receipt === 'valid'
    note(isChecked ? 'The receipt is valid.' : 'The receipt was not checked: the key set cannot be read.')
    return true
  } catch (cause) {
    if (!(cause instanceof PurchaseError)) throw cause
    if (cause.code === 'aborted') context.endAtOnce()
    const { code, answer, file, message, advice, outcome } = cause
    const dataError = answer && file !== undefined ? await savedDataError(file) : undefined
    if (dataError) printBody(context, { ...options, json: true }, dataError)
    if (answer) await reportRefusal(context, options, answer, file)
    else note(`${message}. ${advice}`)
    // There is no payment that can be sent again.
    if (code === 'purchase_unreadable') return exitStatusOf(outcome)
    // A path that cannot be that of a purchase is a wrong argument.
    if (code === 'request_unsupported' || NO_FILE.has(errorCode(cause.cause))) return EXIT_USAGE
    note(describeOutcome(outcome))
    // The newest purchase was sold, and its answer is not printed.
    if (outcome.kind === 'sold') return false
    if (outcome.kind === 'unknown') note(`To send the same payment again: --retry ${file}`)
    return dataError ? OUTCOMES.not_sold_later.exitStatus : exitStatusOf(outcome)
  }
}

/** The refusal that says what the register has, such as no company with the number, whatever came after it. */
async function savedDataError(file: string): Promise<Purchase['answer']> {
  const saved = await readPurchase(fileEntry(file))
  const code = decidingCode(saved)
  return code !== undefined && isDataError(code) ? saved.answer : null
}

/** The code, what it means, the paying address, and what to do. */
async function reportRefusal(
  context: CommandContext,
  options: Report,
  { status, code, reason }: ServiceAnswer,
  file: string | undefined,
): Promise<void> {
  const { note } = context
  const saved = file === undefined ? undefined : await readPurchase(fileEntry(file))
  if (options.verbose && saved?.answer) printBody({ ...context, print: note }, { ...options, json: true }, saved.answer)
  const known = code === undefined ? undefined : REFUSALS[code]
  const meaning = known?.message ?? 'This is no answer of the service. Check its URL, or a proxy before it.'
  note(`${[status, code, reason].filter(Boolean).join(' ')}: ${meaning}`)
  if (saved) {
    const { payer, network, amount, validBefore } = readPayment(saved)
    note(`paying address: ${payer} on ${network}`)
    if (reason === 'insufficient_funds') {
      const faucet = network === DEPLOYMENTS.testnet.network ? ` ${FAUCET}` : ''
      note(`It has less than the price of ${showUsdc(amount)} USDC. Send USDC to this address.${faucet}`)
      note(`Until ${toMoment(validBefore)} the same command sends this payment again, with any key.`)
      const address = options.key && (await signerOf(options.key)).address
      if (address !== undefined && !isSameAddress(address, payer))
        note(
          `The key file has the address ${address}: to pay with it now, add --new-payment. ` +
            'Both payments can be charged if the first address gets the money before that time.',
        )
    }
  }
  // A 402 advises to sign another payment, but this one can still be settled. For a payment that was settled earlier,
  // the outcome above says what to do.
  if (known && status !== 402 && code !== 'payment_already_settled') note(known.advice)
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
