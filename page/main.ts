/**
 * The page. The URL is the question, and the stored purchases are the answers: a reload, Back or another tab shows what
 * was bought, and continues what is open.
 */
import { isRefused } from '../agent/buyer/library/purchase-state.ts'
import { describeAnswer } from '../agent/buyer/library/purchase-error.ts'
import { REFUSALS } from '../agent/operation/refusal.ts'
import type { Operation } from '../agent/operation/operation.ts'
import { showAnswer } from './answers.ts'
import { button, create, find, usdc } from './elements.ts'
import { showPayment } from './payment.ts'
import { showPurchases } from './purchases.ts'
import { buy, describe, resume, say } from './purchase.ts'
import { askedByUrl, baseUrl, fillForm, form, priceOf, readForm, shownFields, urlOfOperation } from './question.ts'
import { findBought, readPurchases, type Bought } from './storage.ts'
import { listWallets } from './wallets.ts'

const answer = find('#answer')

/** Runs one purchase at a time in this document. */
async function exclusively(work: () => Promise<void>): Promise<void> {
  if (document.body.ariaBusy === 'true') return
  document.body.ariaBusy = 'true'
  await work().catch((cause: unknown) => {
    const again = cause instanceof Error && 'file' in cause && cause.file !== undefined
    const next = again ? [button('Send the same payment again', () => void open())] : []
    say(describe(cause), { kind: 'fault', next })
  })
  document.body.ariaBusy = 'false'
  await showPurchases()
}

/** Buys what the form asks for, and shows it under its URL. */
function submit(operation: Operation, isAgain = false): Promise<void> {
  return exclusively(async () => {
    const url = urlOfOperation(operation)
    if (url !== location.pathname + location.search) history.pushState(null, '', url)
    showView(undefined)
    await finish(operation, await buy(operation, isAgain))
  })
}

/** Shows the purchase that the storage has now, or the refusal of a request that was not paid. */
async function finish(operation: Operation, response: Response): Promise<void> {
  const bought = response.headers.has('Purchase') ? await findBought(operation) : undefined
  if (bought) return showBought(bought)
  const { code } = describeAnswer({ status: response.status, body: await response.text() })
  const refusal = code && REFUSALS[code]
  say(`${refusal?.message ?? `The service answered ${response.status}.`} Nothing was paid.`, { kind: 'fault' })
}

function showBought(bought: Bought): void {
  const { operation, purchase, state } = bought
  const saved = purchase.answer
  if (saved?.status !== 200) {
    const { code } = describeAnswer({ status: saved?.status ?? 0, body: saved?.body ?? '' })
    const certainty = state === 'refused' ? '' : ' That is certain when the payment has ended, within six minutes.'
    showView(undefined)
    return say(`Not sold: ${(code && REFUSALS[code].message) ?? 'no answer.'} Nothing was charged.${certainty}`, {
      kind: 'fault',
    })
  }
  say('')
  showView(bought)
  const again = button(`Buy the current answer, ${usdc(priceOf(operation))}`, () => void submit(operation, true))
  const shown = showAnswer(operation, JSON.parse(saved.body) as object, location.hash.slice(1))
  answer.replaceChildren(create('div', {}, shown), showPayment(bought, again))
}

/** With an answer, the page is the box and the answer. */
function showView(bought: Bought | undefined): void {
  document.body.classList.toggle('answered', bought !== undefined)
  answer.replaceChildren()
}

/** Shows what the URL names: its form, its answer, or the continuation of its purchase. */
async function open(): Promise<void> {
  fillForm()
  readForm()
  say('')
  showView(undefined)
  const operation = askedByUrl()
  const bought = operation && (await findBought(operation).catch(() => undefined))
  if (!operation || !bought) return
  const { state, purchase } = bought
  if (state === 'open' && !isRefused(purchase.answer?.status))
    return exclusively(async () => finish(operation, await resume(operation)))
  showBought(bought)
}

/** Sends payments again whose answer a closed document has not seen. */
async function resumeOthers(): Promise<void> {
  for (const { operation, state, purchase } of await readPurchases().catch(() => []))
    if (state === 'open' && !isRefused(purchase.answer?.status))
      await exclusively(async () => void (await resume(operation).then(() => say(''))))
}

form.addEventListener('input', readForm)
form.addEventListener('submit', (event) => {
  event.preventDefault()
  const operation = readForm()
  if (operation && shownFields() !== 'list') void submit(operation)
})
addEventListener('popstate', () => void open())

listWallets(find('#wallet'))
if (!isSecureContext || location.origin !== baseUrl)
  say(`Open ${baseUrl} to buy. This page has another address.`, { kind: 'fault' })
void open().then(showPurchases).then(resumeOthers)
