/** The page: the form, the checks, the answer and the purchases. All purchase logic is that of the buyer's library. */
import { createBuyer } from '../agent/buyer/library/buyer.ts'
import { PurchaseError } from '../agent/buyer/library/purchase-error.ts'
import { restRequest } from '../agent/buyer/library/purchase-request.ts'
import { isRefused, listPurchases, type ListedPurchase } from '../agent/buyer/library/purchase-state.ts'
import type { Signer } from '../agent/buyer/library/signer.ts'
import { FREE_PATHS } from '../agent/operation/endpoints.ts'
import { parseOperation, type Operation, type SingleDefinition } from '../agent/operation/operation.ts'
import { resourceUrl, textInput } from '../agent/operation/resource.ts'
import { SINGLE_OPERATIONS } from '../agent/operation/operations.ts'
import { readSettlementResponse } from '../agent/payment/receipt/read.ts'
import { amountOf, DEPLOYMENTS, type Mode } from '../agent/payment/terms.ts'
import type { Source } from '../store/dataset/source.ts'
import { listTable, rowsOf, showAnswer } from './answers.ts'
import { create, facts, find, save, showDay, usdc } from './elements.ts'
import { parseCsv, planList } from './lists.ts'
import { storage } from './storage.ts'
import { connectWallet, listWallets, WalletError, type Show } from './wallets.ts'

const LOCK = 'irish-company-purchases'
/** Within this time an equal request shows the answer that was bought. */
const MAX_AGE_SECONDS = 3_600

const { baseUrl, mode } = document.body.dataset as { baseUrl: string; mode: Mode }
const ask = find('#ask') as HTMLFormElement
const choice = find('[name=operation]') as HTMLSelectElement
const wallet = find('[name=wallet]') as HTMLSelectElement
const linesField = find('[name=lines]') as HTMLTextAreaElement
const column = find('[name=column]') as HTMLSelectElement
const fileField = find('[type=file]') as HTMLInputElement
const answer = find('#answer')
const checks = find('#checks')
const priceOf = (operation: Operation): number => amountOf({ mode }, operation)

function say(text: string, kind: '' | 'fault' | 'done' = ''): void {
  const status = find('#status')
  status.className = kind
  status.textContent = text
}

let isSigned = false

/** Shows what is about to be signed. The library has compared each value with the expected one. */
const showChecks =
  (operation: Operation): Show =>
  async (account, { domain, message }) => {
    const values = {
      host: baseUrl,
      resource: resourceUrl('', operation),
      network: `eip155:${domain.chainId}`,
      token: `${domain.name} ${domain.verifyingContract}`,
      receiver: `${message.to}, as published`,
      amount: usdc(Number(message.value)),
      expiry: new Date(Number(message.validBefore) * 1000).toLocaleTimeString(),
      account,
    }
    checks.replaceChildren(...facts(values))
    isSigned = true
    say('Every check has passed. Sign in the wallet.')
    // The page is painted before the wallet covers it.
    await new Promise((resolve) => void setTimeout(resolve, 50))
  }

/** One purchase at a time in all tabs. @param connect without it, nothing is signed */
function request(operation: Operation, connect?: () => Promise<Signer>): Promise<Response> {
  isSigned = false
  return navigator.locks.request(LOCK, async () => {
    const signTypedData = () => Promise.reject(new Error('There is no payment to send again'))
    const key: Signer = connect ? await connect() : { address: '0x', signTypedData }
    const expected = { payTo: 'published', amountMax: priceOf(operation) }
    const options = { url: baseUrl, mode, key, folder: storage, expected }
    const buyer = createBuyer({ ...options, ...(connect && { maxAgeSeconds: MAX_AGE_SECONDS }) })
    const { url, ...init } = restRequest(baseUrl, operation)
    return buyer.fetch(url, init)
  })
}

async function buy(operation: Operation): Promise<Response> {
  say('Asking the wallet for its account, then the service for the quote.')
  void navigator.storage.persist()
  await storage.replace('probe', new Date().toISOString()).catch(() => {
    throw new WalletError('This browser cannot keep a payment, for example in a private window. Nothing was signed')
  })
  const payment = { deployment: DEPLOYMENTS[mode], amount: priceOf(operation), show: showChecks(operation) }
  return request(operation, () => connectWallet(wallet.value, payment))
}

async function showBought(operation: Operation, response: Response): Promise<void> {
  const body = (await response.json()) as { error?: { message?: string } }
  if (response.status !== 200) {
    const doubt = response.headers.get('Charged') === 'no' ? '' : ': certain when the payment has expired'
    return say(`${body.error?.message ?? `Status ${response.status}.`} Nothing was charged${doubt}.`, 'fault')
  }
  say(isSigned ? `Bought for ${usdc(priceOf(operation))}.` : 'Bought with the stored payment.', 'done')
  answer.replaceChildren(create('div', {}, showAnswer(operation, body, response.headers.get('Receipt-Check') ?? '')))
}

/** Runs one purchase or list at a time. The state of the history entry is the time of its start, until it has ended. */
async function exclusively(work: () => Promise<void>): Promise<void> {
  if (document.body.ariaBusy === 'true') return
  document.body.ariaBusy = 'true'
  history.replaceState(new Date().toISOString(), '')
  checks.replaceChildren()
  answer.replaceChildren()
  await work().catch((cause: unknown) => say(describe(cause), 'fault'))
  history.replaceState(null, '')
  document.body.ariaBusy = 'false'
  await showPurchases()
}

function describe(cause: unknown): string {
  if (cause instanceof PurchaseError) return `${cause.message}. ${cause.advice}`
  if (cause instanceof WalletError) return `${cause.message}.`
  return 'The purchase did not complete. A payment that was sent is in the list of your purchases.'
}

/** The purchases that the form asks for. Shows their price. The browser submits no form with an invalid field. */
function readForm(): Operation[] {
  for (const fields of ask.querySelectorAll<HTMLFieldSetElement>('fieldset'))
    fields.hidden = fields.disabled = fields.name !== choice.value
  const operations = choice.value === 'list' ? readList() : readMembers()
  const sum = operations.reduce((total, operation) => total + priceOf(operation), 0)
  find('#total').textContent = `${usdc(sum)} in ${operations.length} payment${operations.length === 1 ? '' : 's'}`
  return operations
}

function readMembers(): Operation[] {
  const definition = SINGLE_OPERATIONS.find(({ name }) => name === choice.value) as SingleDefinition
  const inputs = [...ask.querySelectorAll<HTMLInputElement>('fieldset:enabled :is(input, select)')]
  const filled = inputs.map((each): [string, string] => [each.name, each.value]).filter(([, text]) => text !== '')
  const parsed = parseOperation(definition, textInput(filled))
  const fault = parsed.kind === 'invalid' ? parsed.fault : undefined
  const wrong = inputs.find(({ name }) => name === fault?.field) ?? inputs[0]
  for (const each of inputs) each.setCustomValidity(each === wrong ? (fault?.rule ?? '') : '')
  return parsed.kind === 'valid' ? [parsed.operation] : []
}

function readList(): Operation[] {
  const { batches, faults } = planList(linesField.value, Number(linesField.dataset['max']))
  find('#list-faults').textContent = faults.slice(0, 5).join('. ')
  return batches
}

ask.addEventListener('input', readForm)
ask.addEventListener('submit', (event) => {
  event.preventDefault()
  void exclusively(async () => {
    const operations = readForm()
    const rows: string[][] = []
    for (const [at, operation] of operations.entries()) {
      const response = await buy(operation)
      const isList = choice.value === 'list' && (response.ok || response.status === 404)
      if (!isList) return showBought(operation, response)
      rows.push(...rowsOf(operation, (await response.json()) as object))
      say(`${at + 1} of ${operations.length} payments done.`, 'done')
      answer.replaceChildren(create('div', {}, listTable(rows)))
    }
  })
})

/** Offers the columns of a CSV file, whose first row is its head. The cells of the chosen one become the lines. */
async function readFile(): Promise<void> {
  const [file] = fileField.files ?? []
  const [head = [], ...rows] = file ? parseCsv(await file.arrayBuffer()) : []
  const cells = (at: number) => rows.map((row) => row[at] ?? '').join('\n')
  const named = head.findIndex((text) => /name|company|supplier/i.test(text))
  column.replaceChildren(...head.map((text, at) => new Option(text, cells(at), false, at === named)))
  column.dispatchEvent(new Event('input', { bubbles: true }))
}

column.addEventListener('input', () => void (linesField.value = column.value))
fileField.addEventListener('change', () => void readFile())

type Listed = ListedPurchase & { operation: Operation }

/** Sends the payment of a purchase again, or shows its answer. Signs nothing. */
function resume({ operation }: Listed): Promise<void> {
  return exclusively(async () => {
    say('Reading the stored payment.')
    await showBought(operation, await request(operation))
  })
}

function purchaseItem(listed: Listed): HTMLElement {
  const { name, operation, purchase, state, amount } = listed
  const asked = Object.values(operation.input).filter((value) => typeof value === 'string')
  const settled = readSettlementResponse(purchase.answer?.payment_response ?? '')
  const show = () => resume(listed).then(() => find('#result').scrollIntoView())
  const download = () => save(`purchase-${name}`, 'application/json', JSON.stringify(purchase))
  return create(
    'li',
    {},
    create('strong', {}, `${operation.definition.skill.name} ${asked.join(', ')}`),
    create('span', {}, `${usdc(amount)}, ${state}, ${purchase.signed_at.slice(0, 16).replace('T', ' ')}`),
    settled && create('code', {}, settled.transaction),
    create('button', { type: 'button', click: () => void show() }, state === 'paid' ? 'Show' : 'Send again'),
    create('button', { type: 'button', click: download }, 'Download'),
  )
}

/** Shows the purchases of this browser, the newest first. */
async function showPurchases(): Promise<Listed[]> {
  const stored = await listPurchases(storage, new Date()).catch((): ListedPurchase[] => [])
  const purchases = stored.filter((each): each is Listed => each.operation !== undefined).toReversed()
  if (purchases.length > 0) find('#bought').replaceChildren(...purchases.map(purchaseItem))
  return purchases
}

/** After a reload, sends payments again that were not refused, and shows the answer of the interrupted purchase. */
async function resumeOpen(): Promise<void> {
  const started = history.state as string | null
  for (const listed of (await showPurchases()).toReversed()) {
    const { state, purchase } = listed
    const isUnanswered = state === 'open' && !isRefused(purchase.answer)
    if (!isUnanswered && (started === null || purchase.signed_at < started)) continue
    await resume(listed)
  }
}

async function showState(): Promise<void> {
  const response = await fetch(FREE_PATHS.metadata)
  const state = (await response.json()) as { row_count: number; source: Source; snapshot_id: string }
  const day = showDay(state.source.source_updated_at ?? state.source.retrieved_at)
  const rows = state.row_count.toLocaleString('en-IE')
  find('#state').textContent = `${rows} companies, file of ${day}, ${state.snapshot_id.slice(0, 19)}`
}

/** Fills the form with the members that the URL names. */
function readUrl(): void {
  const members = new URLSearchParams(location.search)
  const name = members.get('operation') ?? ''
  const fields = ask.querySelector<HTMLFieldSetElement>(`fieldset[name="${CSS.escape(name)}"]`)
  if (!fields) return
  choice.value = name
  for (const field of fields.querySelectorAll<HTMLInputElement>('input, select'))
    field.value = members.get(field.name) ?? ''
}

listWallets(wallet)
if (!isSecureContext || location.origin !== baseUrl)
  say(`Open ${baseUrl} to buy. This page has another address.`, 'fault')
readUrl()
// After "Back" the browser has restored the form by then.
addEventListener('pageshow', readForm)
void showState().catch(() => undefined)
void resumeOpen()
