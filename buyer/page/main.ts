/**
 * The page. The URL is the question, and the stored purchases are the answers: a reload, Back or another tab shows what
 * was bought, and continues what is open.
 */
import { poorQuery } from '../poor-query.ts'
import { outcomeOf } from '../library/purchase-state.ts'
import { describeAnswer, PurchaseError } from '../library/purchase-error.ts'
import type { Operation } from '../../agent/operation/operation.ts'
import { allowLater, button, create, find, paragraph } from './elements.ts'
import { buy, describe, MAX_AGE_SECONDS, resume, say } from './purchase.ts'
import {
  askedByUrl,
  baseUrl,
  fillForm,
  form,
  isAsked,
  offerAgain,
  onAsked,
  priceOf,
  readForm,
  readUrl,
  shownFields,
  urlOf,
} from './question.ts'
import { tellRefusal } from './refusals.ts'
import { findBought, readPurchases, type Bought } from './storage.ts'
import { announce, present, withdraw } from './view.ts'
import { listWallets } from './wallets.ts'
import { MOMENT, usdc } from './words.ts'

/** Shows the purchases in a document that has a place for them. */
async function showPurchases(): Promise<void> {
  if (!document.querySelector('#bought')) return
  allowLater()
  await (await import('./purchases.ts')).showPurchases()
}

/** Runs one purchase at a time in this document. */
async function exclusively(work: () => Promise<void>): Promise<void> {
  if (document.body.ariaBusy === 'true') return
  document.body.ariaBusy = 'true'
  await work().catch(sayFailure)
  document.body.ariaBusy = 'false'
  await showPurchases()
}

async function sayFailure(cause: unknown): Promise<void> {
  const { answer, outcome } = cause instanceof PurchaseError ? cause : {}
  const operation = askedByUrl()
  const bought = operation && (await findBought(operation).catch(() => undefined))
  const { text, next } = tellRefusal(answer?.code, bought?.purchase.answer?.body)
  const again = outcome?.kind === 'unknown' ? [button('Send the same payment again', () => void open())] : []
  say(describe(cause, { text }), 'fault', ...again, ...next)
}

/**
 * Buys an operation, and shows it under its URL.
 * @param isSure whether a query that cannot find a company is bought too
 */
async function submit(operation: Operation, isSure = false): Promise<void> {
  const poor = isSure ? undefined : poorQuery(operation)
  if (poor && document.body.ariaBusy !== 'true') {
    const anyway = button(`Ask anyway, ${usdc(priceOf(operation))}`, () => void submit(operation, true))
    return say(`${poor} Nothing was charged.`, 'fault', anyway)
  }
  await exclusively(async () => {
    if (!isAsked(operation)) {
      history.pushState(null, '', urlOf(operation.definition.name, operation.input))
      fillForm()
    }
    withdraw()
    await loadViews()
    await show(await buy(operation))
  })
}

/** The code of the answers, before a purchase: nothing that can fail stands between a payment and its answer. */
function loadViews() {
  allowLater()
  return Promise.all([import('./answers.ts'), import('./payment.ts')])
}

/** @throws PurchaseError if the purchase has ended without an answer */
async function show(bought: Bought | undefined): Promise<void> {
  const [{ showAnswer }, { showPayment }] = await loadViews()
  say('')
  // A person can go back meanwhile.
  if (!bought || !isAsked(bought.operation)) return
  const { operation, purchase, name: file } = bought
  const { status = 0, body = '' } = purchase.answer ?? {}
  if (status !== 200) {
    const answer = describeAnswer({ status, body })
    const outcome = outcomeOf(purchase, new Date())
    throw new PurchaseError('service_refused', 'The service gave no answer that this page can read', {
      answer,
      outcome,
      file,
    })
  }
  const shown = showAnswer(operation, JSON.parse(body) as object, location.hash.slice(1))
  const at = Date.parse(purchase.signed_at)
  present(paragraph(`Bought ${MOMENT.format(at)}`, 'quiet'), create('div', {}, shown), showPayment(bought))
  announce()
  offerAgain({ operation, isOld: Date.now() - at > MAX_AGE_SECONDS * 1000 })
}

/** Shows what the URL names: its form, its answer, or the continuation of its purchase. */
async function open(): Promise<void> {
  fillForm()
  readForm()
  withdraw()
  say('')
  for (const each of ['#go', '#terms']) find(each).hidden = false
  if (shownFields().name === 'list') return (await loadLists()).openLists(exclusively)
  const { name, members } = readUrl()
  if (name === 'receipt') return showDay(members['day'] ?? '')
  const operation = askedByUrl()
  if (!operation) return resumeAll()
  const bought = await findBought(operation).catch(() => undefined)
  if (!bought) return
  if (!isUnanswered(bought)) return show(bought).catch(sayFailure)
  await exclusively(async () => {
    await loadViews()
    await show(await resume(operation))
  })
}

async function showDay(day: string): Promise<void> {
  allowLater()
  const { ofDay, showBooks } = await import('./books.ts')
  showBooks(day, ofDay(await readPurchases(), day))
  announce()
}

function loadLists() {
  allowLater()
  return import('./lists/lists.ts')
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
  if (shownFields().name === 'list') return void exclusively(async () => void (await (await loadLists()).press()))
  const operation = readForm()
  if (operation) void submit(operation)
})
onAsked((operation) => void submit(operation))
addEventListener('popstate', () => void open())

listWallets()
void open()
void showPurchases()
if (!isSecureContext || location.origin !== baseUrl)
  say(`Open ${baseUrl} to buy. This page has another address.`, 'fault')
