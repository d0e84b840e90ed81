/** One purchase: the wallet, the payment, and what is shown until its answer. All purchase logic is the library's. */
import { RUNTIME } from '../library/buy.ts'
import { openBuyer, purchaseName } from '../library/open-buyer.ts'
import { describeOutcome } from '../library/outcome.ts'
import type { Signer } from '../library/signer.ts'
import type { OnStep } from '../library/step.ts'
import { buyAnswer } from '../library/methods.ts'
import { PurchaseError } from '../library/purchase-error.ts'
import { restRequest } from '../library/purchase-request.ts'
import type { Operation } from '../../agent/operation/operation.ts'
import { REFUSALS } from '../../agent/operation/refusal.ts'
import { PAYMENT_HEADERS } from '../../agent/payment/terms.ts'
import { button, create, find } from './elements.ts'
import { baseUrl, mode, priceOf } from './question.ts'
import { findBought, storage, type Bought } from './storage.ts'
import { connectWallet, walletError } from './wallets.ts'
import { shorten, showLater, TIME, usdc } from './words.ts'

/** Within this time an equal request shows the answer that was bought. The register has a new file each day. */
export const MAX_AGE_SECONDS = 86_400
/** The usual time of a verification, a block of two seconds, and the reads of the chain. */
const SETTLEMENT_SECONDS = 6

/** Shows what happens, and one next step. Without a text, nothing. */
export function say(text: string, kind: '' | 'fault' = '', ...next: Node[]): void {
  find('#progress').hidden = text === ''
  Object.assign(find('#status'), { className: kind, textContent: text })
  find('#next').replaceChildren(...next)
}

/** A bar that fills in the expected time. */
function waitingBar(seconds: number): HTMLElement {
  const bar = create('progress', { 'aria-label': 'Expected time', max: String(seconds), value: '0' })
  const timer = setInterval(() => {
    bar.value += 0.2
    if (!bar.isConnected) clearInterval(timer)
  }, 200)
  return bar
}

/** Ends the wait for the wallet, or for another tab. */
let waiting = new AbortController()
const stopWaiting = () => button('Do not wait', () => waiting.abort(walletError('You did not wait')))

const onStep: OnStep = (step) => {
  if (step.kind === 'signing') {
    const { value, to } = step.typed.message
    say(`Sign in the wallet: ${usdc(Number(value))} to ${shorten(to)}. Nothing is paid before.`, '', stopWaiting())
  }
  if (step.kind === 'sending')
    say(
      'The payment is stored in this browser, and sent. Waiting until the network has it.',
      '',
      waitingBar(SETTLEMENT_SECONDS),
    )
  if (step.kind === 'waiting') {
    const { seconds, answer } = step
    const fault = answer ? 'The service cannot answer at the moment.' : 'The service did not answer.'
    const again = TIME.format(new Date(Date.now() + seconds * 1000))
    say(`${fault} The same payment is sent again at ${again}, and charged at most once.`, '', waitingBar(seconds))
  }
}

/** One document sends a payment at a time: the lock is held while its answer is awaited. Its name is the payment. */
const lockedFetch: typeof fetch = (input, init) => {
  const payment = new Headers(init?.headers).get(PAYMENT_HEADERS.request)
  return payment === null ? fetch(input, init) : navigator.locks.request(payment, () => fetch(input, init))
}

/**
 * Runs `work` while no other document plans or signs for these rows. The storage refuses a second payment of the same
 * request, so single purchases share the lock. A list can buy a row in a batch, which is another request: exclusive.
 */
export function holdRows<T>(rows: readonly Operation[], kind: LockMode, work: () => Promise<T>): Promise<T> {
  waiting = new AbortController()
  const { signal } = waiting
  say('Waiting for purchases of other tabs.', '', stopWaiting())
  // In one order, so that two documents never wait for each other.
  const names = [...new Set(rows.map((row) => purchaseName(restRequest(baseUrl, row))))].toSorted()
  const inside = (next: typeof work, name: string) => () =>
    navigator.locks.request<Promise<T>>(name, { mode: kind, signal }, next)
  return names.reduceRight(inside, work)()
}

/** What buyers of the page share. */
export const SHARED = { mode, folder: storage, runtime: { ...RUNTIME, fetch: lockedFetch }, onStep } as const

/** Signs nothing: for a payment that is stored. */
export const NO_SIGNER: Signer = {
  address: '0x',
  signTypedData: () => Promise.reject(new Error('There is no payment to send again')),
}

/** The account of the chosen wallet, which can pay `amount` micro-USDC. */
export async function connect(amount: number): Promise<Signer> {
  waiting = new AbortController()
  say('Asking the wallet for its account.', '', stopWaiting())
  void navigator.storage.persist()
  await storage.replace('probe', new Date().toISOString()).catch(() => {
    throw walletError('This browser cannot keep a payment, for example in a private window')
  })
  return connectWallet(amount, waiting.signal)
}

/** @param maxAgeSeconds without it, a stored answer or payment is used, whatever its age, and nothing is signed */
async function request(operation: Operation, key: Signer, maxAgeSeconds?: number): Promise<Bought | undefined> {
  const expected = { payTo: 'published', amountMax: priceOf(operation) }
  const buyer = openBuyer({
    ...SHARED,
    url: baseUrl,
    key,
    expected,
    maxAgeSeconds,
    isResumed: maxAgeSeconds === undefined,
  })
  await buyAnswer(buyer, restRequest(baseUrl, operation))
  return findBought(operation)
}

/**
 * Buys an answer, or finds the one that was bought within the last day.
 * @throws PurchaseError unless it is sold
 */
export const buy = (operation: Operation) =>
  holdRows([operation], 'shared', async () => request(operation, await connect(priceOf(operation)), MAX_AGE_SECONDS))

/** Sends the stored payment of an operation again. */
export const resume = (operation: Operation) => request(operation, NO_SIGNER)

interface Described {
  /** In place of what the cause says. */
  text?: string | undefined
  /** Of one of several purchases, so "not charged" would seem to be of all. */
  isPart?: boolean
}

/** The failure and the outcome of a purchase. */
export function describe(cause: unknown, { text, isPart = false }: Described = {}): string {
  if (!(cause instanceof PurchaseError)) return 'The page has failed. A payment that was sent is in your purchases.'
  const { answer, outcome, message } = cause
  const failure = text ?? (answer?.code ? REFUSALS[answer.code].message : `${message}.`)
  return isPart && outcome.kind === 'not_sold' ? failure : `${failure} ${describeOutcome(outcome, showLater)}`
}
