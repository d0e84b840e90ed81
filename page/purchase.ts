/** One purchase: the wallet, the payment, and what is shown until its answer. All purchase logic is the library's. */
import { RUNTIME } from '../agent/buyer/library/buy.ts'
import { createBuyer } from '../agent/buyer/library/buyer.ts'
import { describeOutcome } from '../agent/buyer/library/outcome.ts'
import { PurchaseError } from '../agent/buyer/library/purchase-error.ts'
import { restRequest } from '../agent/buyer/library/purchase-request.ts'
import type { Signer } from '../agent/buyer/library/signer.ts'
import type { PurchaseStep } from '../agent/buyer/library/step.ts'
import type { Operation } from '../agent/operation/operation.ts'
import { REFUSALS } from '../agent/operation/refusal.ts'
import { DEPLOYMENTS, PAYMENT_HEADERS } from '../agent/payment/terms.ts'
import { button, find, shorten, showTime, usdc } from './elements.ts'
import { baseUrl, mode, priceOf } from './question.ts'
import { storage } from './storage.ts'
import { connectWallet, WalletError } from './wallets.ts'

/** Within this time an equal request shows the answer that was bought. */
const MAX_AGE_SECONDS = 3_600
/** The usual time of a verification, a block of two seconds, and the reads of the chain. */
const SETTLEMENT_SECONDS = 6

let timer: ReturnType<typeof setInterval> | undefined

interface Shown {
  kind?: '' | 'fault'
  /** The length of a bar: the expected seconds, or what `done` counts. */
  total?: number
  done?: number
  next?: Node[]
}

/** Shows what happens, and one next step. Without a text, nothing. */
export function say(text: string, { kind = '', total, done, next = [] }: Shown = {}): void {
  find('#progress').hidden = text === ''
  const status = find('#status')
  status.className = kind
  status.textContent = text
  find('#next').replaceChildren(...next)
  const bar = find('#progress progress') as HTMLProgressElement
  bar.hidden = total === undefined
  clearInterval(timer)
  if (total === undefined) return
  const start = Date.now()
  const advance = () => (bar.value = done ?? (Date.now() - start) / 1000)
  bar.max = total
  advance()
  if (done === undefined) timer = setInterval(advance, 200)
}

function onStep(step: PurchaseStep): void {
  if (step.kind === 'sending')
    say('The payment is stored in this browser, and sent. Waiting for the chain.', { total: SETTLEMENT_SECONDS })
  if (step.kind !== 'waiting') return
  const { seconds, answer } = step
  const fault = answer ? `The service answered ${answer.status}.` : 'The service did not answer.'
  const again = showTime(new Date(Date.now() + seconds * 1000))
  say(`${fault} The same payment is sent again at ${again}, and charged at most once.`, { total: seconds })
}

/** One document sends a payment at a time: the lock is held while its answer is awaited. Its name is the payment. */
const lockedFetch: typeof fetch = (input, init) => {
  const payment = new Headers(init?.headers).get(PAYMENT_HEADERS.request)
  return payment === null ? fetch(input, init) : navigator.locks.request(payment, () => fetch(input, init))
}

/** What buyers of the page share. */
export const SHARED = { mode, folder: storage, runtime: { ...RUNTIME, fetch: lockedFetch }, onStep } as const

/** Signs nothing: for a payment that is stored. */
export const NO_SIGNER: Signer = {
  address: '0x',
  signTypedData: () => Promise.reject(new Error('There is no payment to send again')),
}

/** @param maxAgeSeconds without it, a stored answer or payment is used, whatever its age */
function request(operation: Operation, key: Signer, maxAgeSeconds?: number): Promise<Response> {
  const expected = { payTo: 'published', amountMax: priceOf(operation) }
  const age = maxAgeSeconds === undefined ? {} : { maxAgeSeconds }
  const { url, ...init } = restRequest(baseUrl, operation)
  return createBuyer({ ...SHARED, url: baseUrl, key, expected, ...age }).fetch(url, init)
}

/**
 * The account of the chosen wallet, for payments of an amount.
 * @param amount micro-USDC
 */
export async function connect(amount: number): Promise<Signer> {
  const stop = new AbortController()
  const next = [button('Do not wait', () => stop.abort())]
  say('Asking the wallet for its account.', { next })
  void navigator.storage.persist()
  await storage.replace('probe', new Date().toISOString()).catch(() => {
    throw new WalletError('This browser cannot keep a payment, for example in a private window. Nothing was signed')
  })
  return connectWallet((find('#wallet') as HTMLSelectElement).value, {
    deployment: DEPLOYMENTS[mode],
    amount,
    signal: stop.signal,
    // The library has compared each value of the quote with the expected one.
    onSigning: async ({ message }) => {
      say(`Sign in the wallet: ${usdc(Number(message.value))} to ${shorten(message.to)}. Nothing is paid before.`, {
        next,
      })
      // The page is painted before the wallet covers it.
      await new Promise((resolve) => void setTimeout(resolve, 50))
    },
  })
}

/**
 * Buys an answer, or finds the one that was bought within the last hour. The storage has it then.
 * @param isAgain buys another one
 */
export const buy = async (operation: Operation, isAgain: boolean): Promise<Response> =>
  request(operation, await connect(priceOf(operation)), isAgain ? 1 : MAX_AGE_SECONDS)

/** Sends the stored payment of an operation again. */
export const resume = (operation: Operation): Promise<Response> => request(operation, NO_SIGNER)

export function describe(cause: unknown): string {
  const own = cause instanceof PurchaseError && cause.cause instanceof WalletError ? cause.cause : cause
  if (own instanceof WalletError) return `${own.message}.`
  if (!(own instanceof PurchaseError)) return 'The page has failed. A payment that was sent is in your purchases.'
  const { answer, outcome, message } = own
  const known = answer?.code && REFUSALS[answer.code].message
  return `${known ?? `${message}.`} ${describeOutcome(outcome)}`
}
