/** The page: forms, checks, answers, lists and purchases. All purchase logic is that of the library of the buyer. */
import { REPEAT_STATUSES } from '../agent/buyer/library/buy.ts'
import { PurchaseError } from '../agent/buyer/library/purchase-error.ts'
import { listPurchases, type ListedPurchase } from '../agent/buyer/library/purchase-state.ts'
import { parseOperation, type Operation, type SingleDefinition } from '../agent/operation/operation.ts'
import { resourceUrl, textInput } from '../agent/operation/resource.ts'
import { SINGLE_OPERATIONS } from '../agent/operation/operations.ts'
import { readSettlementResponse } from '../agent/payment/receipt/read.ts'
import { showAnswer } from './answers.ts'
import { create, find, save, showDay, usdc, type Content } from './elements.ts'
import { listTable, parseCsv, planList, rowsOf, toCsv } from './lists.ts'
import { buy, priceOf, resume, type ShownAnswer } from './purchases.ts'
import { storage } from './storage.ts'
import { connectSandbox, connectWallet, findWallets, WalletError, type Connect, type Show } from './wallets.ts'

/** In the session of the tab: when the purchase in progress was started. */
const STARTED = 'started'
/** Sorts after every time, so no purchase counts as interrupted. */
const NO_PURCHASE = '9'

const { baseUrl = '', account: sandboxAccount = '' } = document.body.dataset
const ask = find('#ask', HTMLFormElement)
const list = find('#list', HTMLFormElement)
const answer = find('#answer', HTMLElement)
const operationOf = (name: string) => SINGLE_OPERATIONS.find((each) => each.name === name) as SingleDefinition

function say(text: string, kind: '' | 'fault' | 'done' = ''): void {
  const status = find('#status', HTMLElement)
  status.className = kind
  status.textContent = text
}

/** Shows what is about to be signed. The library has compared each value with the expected one. */
const showChecks =
  (operation: Operation): Show =>
  async (account, { domain, message }) => {
    const minutes = Math.round((Number(message.validBefore) * 1000 - Date.now()) / 60_000)
    const values: Record<string, string> = {
      host: baseUrl,
      resource: resourceUrl('', operation),
      network: `eip155:${domain.chainId}`,
      token: `${domain.name} ${domain.verifyingContract}`,
      receiver: `${message.to}, as published`,
      amount: usdc(Number(message.value)),
      expiry: `${minutes} minutes after signing`,
      account,
    }
    for (const [name, value] of Object.entries(values)) setCheck(name, value)
    isSigned = true
    say('Every check has passed. Sign in the wallet.')
    // The page is painted before the wallet covers it.
    await new Promise((resolve) => void setTimeout(resolve, 50))
  }

function setCheck(name: string, value: string): void {
  const check = find(`[data-check="${name}"]`, HTMLElement)
  check.classList.toggle('passed', value !== '')
  check.textContent = value === '' ? '–' : value
}

function describe(cause: unknown): string {
  if (cause instanceof PurchaseError) return `${cause.message}. ${cause.advice}`
  if (cause instanceof WalletError) return `${cause.message}.`
  return 'The purchase did not complete. A payment that was sent is in the list of your purchases.'
}

function connectBy({ value }: HTMLButtonElement): Connect {
  return value === 'sandbox' && connectSandbox
    ? connectSandbox(sandboxAccount)
    : connectWallet(find('#wallet', HTMLSelectElement).value)
}

let isSigned = false

function buyShown(operation: Operation, connect: Connect): Promise<ShownAnswer> {
  isSigned = false
  for (const check of document.querySelectorAll<HTMLElement>('[data-check]')) setCheck(check.dataset['check'] ?? '', '')
  answer.replaceChildren()
  say('Requesting the quote.')
  return buy(operation, connect, showChecks(operation))
}

const SHOWN_AGAIN = 'Bought before, shown without another payment.'

/** @param success says what a 200 has cost */
function showBought(
  operation: Operation,
  { status, body, receipt }: ShownAnswer,
  success = isSigned ? `Bought for ${usdc(priceOf(operation))}.` : SHOWN_AGAIN,
): void {
  if (status === 200) {
    say(success, 'done')
    answer.replaceChildren(...nodes(showAnswer(operation, body, receipt)))
    return
  }
  const { error } = JSON.parse(body) as { error?: { message?: string } }
  say(`${error?.message ?? `Status ${status}.`} Nothing was charged.`, 'fault')
}

const nodes = (content: Content): (Node | string)[] => [...create('div', {}, content).childNodes]

let isRunning = false

/** Runs one purchase or list at a time. */
async function exclusively(work: () => Promise<void>): Promise<void> {
  if (isRunning) return
  const setRunning = (value: boolean) => document.body.setAttribute('aria-busy', String((isRunning = value)))
  setRunning(true)
  sessionStorage.setItem(STARTED, new Date().toISOString())
  await work().catch((cause: unknown) => say(describe(cause), 'fault'))
  sessionStorage.removeItem(STARTED)
  setRunning(false)
  await showPurchases()
}

function readForm(): Operation | string {
  const { value } = find('[name=operation]:checked', HTMLInputElement)
  const fields = find(`fieldset[name="${value}"]`, HTMLFieldSetElement)
  const inputs = [...fields.elements] as (HTMLInputElement | HTMLSelectElement)[]
  const filled = inputs.map((each): [string, string] => [each.name, each.value]).filter(([, text]) => text !== '')
  const parsed = parseOperation(operationOf(value), textInput(filled))
  for (const each of inputs) each.removeAttribute('aria-invalid')
  if (parsed.kind === 'valid') return parsed.operation
  const { field, rule } = parsed.fault
  const wrong = inputs.find(({ name }) => name === field)
  wrong?.setAttribute('aria-invalid', 'true')
  return `${wrong?.labels?.[0]?.firstChild?.textContent?.trim() ?? 'The input'}: ${rule}.`
}

function showForm(): void {
  const { value } = find('[name=operation]:checked', HTMLInputElement)
  for (const fields of ask.querySelectorAll<HTMLFieldSetElement>('fieldset[name]'))
    fields.hidden = fields.name !== value
  const operation = readForm()
  const isValid = typeof operation !== 'string'
  find('.total', HTMLElement, ask).textContent = isValid ? usdc(priceOf(operation)) : operation
}

ask.addEventListener('input', showForm)
ask.addEventListener('submit', (event) => {
  event.preventDefault()
  const operation = readForm()
  if (typeof operation === 'string') {
    say(operation, 'fault')
    return find(`fieldset:not([hidden]) [aria-invalid], fieldset:not([hidden]) input`, HTMLElement, ask).focus()
  }
  const connect = connectBy(event.submitter as HTMLButtonElement)
  void exclusively(async () => showBought(operation, await buyShown(operation, connect)))
})

const linesField = find('[name=lines]', HTMLTextAreaElement, list)

function plan() {
  const { value } = find('[name=kind]', HTMLSelectElement, list)
  return planList(operationOf(value), linesField.value, Number(linesField.dataset['max']))
}

function showPlan(): void {
  const { batches, lines, faults } = plan()
  const sum = batches.reduce((total, { operation }) => total + priceOf(operation), 0)
  find('.total', HTMLElement, list).textContent = `${lines} lines = ${usdc(sum)} in ${batches.length} payments`
  find('#list-faults', HTMLElement).textContent = faults.slice(0, 5).join('. ')
}

list.addEventListener('input', showPlan)
list.addEventListener('submit', (event) => {
  event.preventDefault()
  const connect = connectBy(event.submitter as HTMLButtonElement)
  void exclusively(async () => {
    const { batches } = plan()
    const rows: ReturnType<typeof rowsOf> = []
    for (const [at, { operation, lines }] of batches.entries()) {
      const { status, body } = await buyShown(operation, connect)
      if (status !== 200 && status !== 404) return showBought(operation, { status, body, receipt: '' })
      rows.push(...rowsOf(lines, status, body))
      say(`${at + 1} of ${batches.length} payments done.`, 'done')
      const download = () => save('companies.csv', 'text/csv', toCsv(rows))
      const button = create('button', { type: 'button', click: download }, 'Download CSV')
      find('#rows', HTMLElement).replaceChildren(...nodes([listTable(rows), button]))
    }
  })
})

const column = find('[name=column]', HTMLSelectElement, list)
const fileField = find('[type=file]', HTMLInputElement, list)
let csv: string[][] = []

/** The cells of the chosen column of a CSV file become the lines. The first row is its head. */
function showColumn(): void {
  linesField.value = csv.map((row) => row[Number(column.value)] ?? '').join('\n')
  showPlan()
}

async function readFirst(files: FileList | null | undefined): Promise<void> {
  if (!files?.[0]) return
  const [head = [], ...rows] = parseCsv(await files[0].arrayBuffer())
  csv = rows
  const named = head.findIndex((text) => /name|company|supplier/i.test(text))
  column.replaceChildren(...head.map((text, at) => new Option(text, String(at), false, at === named)))
  find('#column', HTMLElement).hidden = false
  showColumn()
}

column.addEventListener('change', showColumn)
fileField.addEventListener('change', () => void readFirst(fileField.files))
list.addEventListener('dragover', (event) => event.preventDefault())
list.addEventListener('drop', (event) => {
  event.preventDefault()
  void readFirst(event.dataTransfer?.files)
})

function resumeListed({ operation, state, amount }: Listed): Promise<void> {
  const success = state === 'paid' ? SHOWN_AGAIN : `Paid ${usdc(amount)} with the stored payment.`
  return exclusively(async () => showBought(operation, await resume(operation), success))
}

async function repeat(listed: Listed): Promise<void> {
  await resumeListed(listed)
  find('#result', HTMLElement).scrollIntoView({ block: 'start' })
}

function purchaseItem(listed: Listed): HTMLElement {
  const { name, operation, purchase, state, amount } = listed
  const asked = Object.values(operation.input).filter((value) => typeof value === 'string')
  const settled = readSettlementResponse(purchase.answer?.payment_response ?? '')
  const download = () => save(`purchase-${name}`, 'application/json', JSON.stringify(purchase))
  return create(
    'li',
    {},
    create('strong', {}, `${operation.definition.skill.name} ${asked.join(', ')}`),
    create('span', {}, `${usdc(amount)}, ${state}, ${purchase.signed_at.slice(0, 16).replace('T', ' ')}`),
    settled && create('code', {}, settled.transaction),
    create('button', { type: 'button', click: () => void repeat(listed) }, state === 'paid' ? 'Show' : 'Send again'),
    create('button', { type: 'button', click: download }, 'Download'),
  )
}

type Listed = ListedPurchase & { operation: Operation }

/** Shows the purchases of this browser, the newest first. */
async function showPurchases(): Promise<Listed[]> {
  const stored = await listPurchases(storage, new Date()).catch((): ListedPurchase[] => [])
  const purchases = stored.filter((each): each is Listed => each.operation !== undefined).toReversed()
  if (purchases.length > 0) find('#bought', HTMLElement).replaceChildren(...purchases.map(purchaseItem))
  return purchases
}

/** Whether the purchase may be paid without an answer. A payment that was refused is sent again only on request. */
function isUnanswered({ state, purchase }: Listed): boolean {
  const { status = 200 } = purchase.answer ?? {}
  return state === 'open' && (status === 200 || REPEAT_STATUSES.has(status))
}

/** After a reload, unanswered payments are sent again, and the answer of the interrupted purchase is shown. */
async function resumeOpen(): Promise<void> {
  const started = sessionStorage.getItem(STARTED) ?? NO_PURCHASE
  const open = (await showPurchases()).filter((each) => isUnanswered(each) || each.purchase.signed_at >= started)
  if (open.length > 0) say('Sending the stored payment again.')
  for (const each of open.toReversed()) await resumeListed(each)
}

async function showState(): Promise<void> {
  const response = await fetch('/api/v1/meta')
  const state = (await response.json()) as Record<'dataset_status' | 'row_count' | 'snapshot_id', string> & {
    source: { retrieved_at: string; source_updated_at: string | null }
  }
  const { source_updated_at: updated, retrieved_at: retrieved } = state.source
  const rows = Number(state.row_count).toLocaleString('en-IE')
  find('#state', HTMLElement).textContent =
    `${rows} companies, file of ${showDay(updated ?? retrieved)}, ${state.dataset_status}, ${state.snapshot_id.slice(0, 19)}`
}

/** Fills the form with the members that the URL names. */
function readUrl(): void {
  const members = new URLSearchParams(location.search)
  const choice = ask.querySelector<HTMLInputElement>(
    `[type=radio][value="${CSS.escape(members.get('operation') ?? '')}"]`,
  )
  if (!choice) return
  choice.checked = true
  for (const field of find(`fieldset[name="${choice.value}"]`, HTMLFieldSetElement).elements)
    (field as HTMLInputElement).value = members.get((field as HTMLInputElement).name) ?? ''
}

findWallets((wallets) => {
  const choice = find('#wallet', HTMLSelectElement)
  choice.replaceChildren(...wallets.map(({ id, name }) => new Option(name, id)))
  find('#wallets', HTMLElement).hidden = false
})
if (!isSecureContext || location.origin !== baseUrl)
  say(`Open ${baseUrl} to buy. This page has another address.`, 'fault')
readUrl()
showForm()
showPlan()
void showState().catch(() => undefined)
void resumeOpen()
