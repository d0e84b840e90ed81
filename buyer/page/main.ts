/**
 * The page. The URL is the question, and the stored purchases are the answers: a reload, Back or another tab shows what
 * was bought, and continues what is open.
 */
import { outcomeOf } from '../library/purchase-state.ts'
import { describeAnswer, PurchaseError } from '../library/purchase-error.ts'
import type { Operation } from '../../agent/operation/operation.ts'
import { present, showAnswer, withdraw } from './answers.ts'
import { allowLater, button, create, link } from './elements.ts'
import { showPayment } from './payment.ts'
import { showPurchases } from './purchases.ts'
import { buy, describe, resume, say } from './purchase.ts'
import { askedByUrl, baseUrl, fillForm, form, isAsked, readForm, shownFields, urlOf } from './question.ts'
import { findBought, readPurchases, type Bought } from './storage.ts'
import { listWallets } from './wallets.ts'

/** Runs one purchase at a time in this document. */
async function exclusively(work: () => Promise<void>): Promise<void> {
  if (document.body.ariaBusy === 'true') return
  document.body.ariaBusy = 'true'
  await work().catch(sayFailure)
  document.body.ariaBusy = 'false'
  await showPurchases()
}

function sayFailure(cause: unknown): void {
  const { answer, outcome } = cause instanceof PurchaseError ? cause : {}
  const again = outcome?.kind === 'unknown' ? [button('Send the same payment again', () => void open())] : []
  const search = answer?.code === 'company_not_found' ? [link(urlOf('search', {}), 'Search by name')] : []
  say(describe(cause), 'fault', ...again, ...search)
}

/** Buys what the form asks for, and shows it under its URL. */
function submit(operation: Operation): Promise<void> {
  return exclusively(async () => {
    if (!isAsked(operation)) history.pushState(null, '', urlOf(operation.definition.name, operation.input))
    withdraw()
    await show(await buy(operation))
  })
}

/** @throws PurchaseError if the purchase has ended without an answer */
async function show(bought: Bought | undefined): Promise<void> {
  say('')
  // A person can go back meanwhile.
  if (!bought || !isAsked(bought.operation)) return
  const { operation, purchase, name: file } = bought
  const { status = 0, body = '' } = purchase.answer ?? {}
  if (status !== 200) {
    const answer = describeAnswer({ status, body })
    const outcome = outcomeOf(purchase, new Date())
    throw new PurchaseError('service_refused', `The service answered ${status}`, { answer, outcome, file })
  }
  const shown = showAnswer(operation, JSON.parse(body) as object, location.hash.slice(1))
  present(create('div', {}, shown), showPayment(bought))
}

/** Shows what the URL names: its form, its answer, or the continuation of its purchase. */
async function open(): Promise<void> {
  fillForm()
  readForm()
  withdraw()
  say('')
  if (shownFields().name === 'list') return void openLists()
  const operation = askedByUrl()
  if (!operation) return resumeAll()
  const bought = await findBought(operation).catch(() => undefined)
  if (!bought) return
  if (!isUnanswered(bought)) return show(bought).catch(sayFailure)
  await exclusively(async () => show(await resume(operation)))
}

function openLists() {
  allowLater()
  return import('./lists.ts')
}

const isUnanswered = ({ outcome }: Bought): boolean => outcome.kind === 'unknown'

/** Sends the payments again whose answers no document has seen. The list of the purchases says how they have ended. */
async function resumeAll(): Promise<void> {
  const unanswered = (await readPurchases().catch(() => [])).filter(isUnanswered)
  const clear = () => say('')
  for (const { operation } of unanswered) await exclusively(() => resume(operation).then(clear, clear))
}

// The price of a list is set when it has been read.
form.addEventListener('input', () => shownFields().name === 'list' || readForm())
form.addEventListener('submit', (event) => {
  event.preventDefault()
  if (shownFields().name === 'list') return void exclusively(async () => (await openLists()).press())
  const operation = readForm()
  if (operation) void submit(operation)
})
addEventListener('popstate', () => void open())

listWallets()
void open()
void showPurchases()
if (!isSecureContext || location.origin !== baseUrl)
  say(`Open ${baseUrl} to buy. This page has another address.`, 'fault')
