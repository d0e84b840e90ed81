/**
 * The page. The URL is the question, and the stored purchases are the answers: a reload, Back or another tab shows what
 * was bought, and continues what is open.
 */
import { describeOutcome } from '../agent/buyer/library/outcome.ts'
import { isRefused, outcomeOf } from '../agent/buyer/library/purchase-state.ts'
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
    clear()
    await finish(operation, await buy(operation, isAgain))
  })
}

/** Shows the purchase that the storage has now, or the refusal of a request that was not paid. */
async function finish(operation: Operation, response: Response): Promise<void> {
  const bought = await findBought(operation)
  if (bought) return showBought(bought)
  const { code } = describeAnswer({ status: response.status, body: await response.text() })
  say(`${(code && REFUSALS[code].message) ?? `The service answered ${response.status}.`} Nothing was paid.`, {
    kind: 'fault',
  })
}

async function showBought(bought: Bought): Promise<void> {
  const { operation, purchase } = bought
  const saved = purchase.answer
  if (saved?.status !== 200) {
    const { code } = describeAnswer({ status: saved?.status ?? 0, body: saved?.body ?? '' })
    const outcome = describeOutcome(await outcomeOf(purchase, new Date()))
    return say(`${(code && REFUSALS[code].message) ?? ''} ${outcome}`, { kind: 'fault' })
  }
  say('')
  document.body.classList.add('answered')
  const again = button(`Buy the current answer, ${usdc(priceOf(operation))}`, () => void submit(operation, true))
  const shown = showAnswer(operation, JSON.parse(saved.body) as object, location.hash.slice(1))
  answer.replaceChildren(create('div', {}, shown), showPayment(bought, again))
}

/** Removes an answer. With one, the page is the box and the answer. */
function clear(): void {
  say('')
  document.body.classList.remove('answered')
  answer.replaceChildren()
}

/** Shows what the URL names: its form, its answer, or the continuation of its purchase. */
async function open(): Promise<void> {
  fillForm()
  readForm()
  clear()
  if (shownFields() === 'list') return openLists()
  const operation = askedByUrl()
  const bought = operation && (await findBought(operation).catch(() => undefined))
  if (!operation || !bought) return
  if (isUnanswered(bought)) return exclusively(async () => finish(operation, await resume(operation)))
  await showBought(bought)
}

/** The code of lists is loaded when it is needed. */
async function openLists(): Promise<void> {
  document.head.append((find('#later') as HTMLTemplateElement).content.cloneNode(true))
  const { openList } = await import('./lists.ts')
  buyList = openList()
}

let buyList: (() => Promise<void>) | undefined

const isUnanswered = ({ state, purchase }: Bought): boolean => state === 'open' && !isRefused(purchase.answer)

/** Sends payments again whose answer a closed document has not seen. */
async function resumeOthers(): Promise<void> {
  for (const bought of await readPurchases().catch(() => []))
    if (isUnanswered(bought))
      await exclusively(async () => {
        await resume(bought.operation)
        say('')
      })
}

form.addEventListener('input', readForm)
form.addEventListener('submit', (event) => {
  event.preventDefault()
  if (shownFields() === 'list') return void exclusively(async () => buyList?.())
  const operation = readForm()
  if (operation) void submit(operation)
})
addEventListener('popstate', () => void open())

listWallets(find('#wallet') as HTMLSelectElement)
void open().then(showPurchases).then(resumeOthers)
if (!isSecureContext || location.origin !== baseUrl)
  say(`Open ${baseUrl} to buy. This page has another address.`, { kind: 'fault' })
