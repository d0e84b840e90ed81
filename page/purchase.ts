/** One purchase: the wallet, the payment, and what is shown until its answer. All purchase logic is the library's. */
import { RUNTIME, type BuyerRuntime } from '../agent/buyer/library/buy.ts'
import { createBuyer } from '../agent/buyer/library/buyer.ts'
import { PurchaseError } from '../agent/buyer/library/purchase-error.ts'
import { restRequest } from '../agent/buyer/library/purchase-request.ts'
import type { Signer } from '../agent/buyer/library/signer.ts'
import type { Operation } from '../agent/operation/operation.ts'
import { DEPLOYMENTS, PAYMENT_HEADERS } from '../agent/payment/terms.ts'
import { button, find, showTime, usdc } from './elements.ts'
import { baseUrl, mode, priceOf } from './question.ts'
import { storage } from './storage.ts'
import { connectWallet, WalletError } from './wallets.ts'

/** Within this time an equal request shows the answer that was bought. */
const MAX_AGE_SECONDS = 3_600
/** Usual times: verification, a block of two seconds, and the reads of the chain. */
const SETTLEMENT_SECONDS = 6

let timer: ReturnType<typeof setInterval> | undefined

interface Shown {
  kind?: '' | 'fault' | 'done'
  /** The expected time, as a bar. */
  seconds?: number
  next?: Node[]
}

/** Shows what happens, and one next step. Without a text, nothing. */
export function say(text: string, { kind = '', seconds, next = [] }: Shown = {}): void {
  find('#progress').hidden = text === ''
  const status = find('#status')
  status.className = kind
  status.textContent = text
  find('#next').replaceChildren(...next)
  const bar = find<HTMLProgressElement>('#progress progress')
  bar.hidden = seconds === undefined
  clearInterval(timer)
  if (seconds === undefined) return
  const start = Date.now()
  bar.max = seconds
  bar.value = 0
  timer = setInterval(() => (bar.value = (Date.now() - start) / 1000), 200)
}

/** One document sends a payment at a time: the lock is held while its answer is awaited. Its name is the payment. */
const lockedFetch: BuyerRuntime['fetch'] = (input, init) => {
  const payment = new Headers(init?.headers).get(PAYMENT_HEADERS.request)
  if (payment === null) return fetch(input, init)
  say('The payment is stored in this browser, and sent. Waiting for the chain.', { seconds: SETTLEMENT_SECONDS })
  return navigator.locks.request(payment, () => fetch(input, init))
}

const runtime: BuyerRuntime = {
  ...RUNTIME,
  fetch: lockedFetch,
  sleep: (milliseconds) => {
    const again = showTime(new Date(Date.now() + milliseconds))
    say(`The service gave no answer. The same payment is sent again at ${again}, and charged at most once.`, {
      seconds: milliseconds / 1000,
    })
    return RUNTIME.sleep(milliseconds)
  },
}

/** @param signer without it, the stored payment is sent, and nothing is signed */
function request(operation: Operation, signer?: Signer, maxAgeSeconds?: number): Promise<Response> {
  const signTypedData = () => Promise.reject(new Error('There is no payment to send again'))
  const buyer = createBuyer({
    url: baseUrl,
    mode,
    key: signer ?? { address: '0x', signTypedData },
    folder: storage,
    expected: { payTo: 'published', amountMax: priceOf(operation) },
    runtime,
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
  })
  const { url, ...init } = restRequest(baseUrl, operation)
  return buyer.fetch(url, init)
}

/**
 * Buys an answer, or finds the one that was bought within the last hour. The storage has it then.
 * @param isAgain buys another one
 */
export async function buy(operation: Operation, isAgain: boolean): Promise<Response> {
  const stop = new AbortController()
  const next = [button('Do not wait', () => stop.abort())]
  say('Asking the wallet for its account.', { next })
  void navigator.storage.persist()
  await storage.replace('probe', new Date().toISOString()).catch(() => {
    throw new WalletError('This browser cannot keep a payment, for example in a private window. Nothing was signed')
  })
  const signer = await connectWallet(find<HTMLSelectElement>('#wallet').value, {
    deployment: DEPLOYMENTS[mode],
    amount: priceOf(operation),
    signal: stop.signal,
    // The library has compared each value of the quote with the expected one.
    onSigning: async (_, { message }) => {
      const to = `${message.to.slice(0, 8)}…${message.to.slice(-6)}`
      say(`Sign in the wallet: ${usdc(Number(message.value))} to ${to}. Nothing is paid before.`, { next })
      // The page is painted before the wallet covers it.
      await new Promise((resolve) => void setTimeout(resolve, 50))
    },
  })
  return request(operation, signer, isAgain ? 1 : MAX_AGE_SECONDS)
}

/** Sends the stored payment of an operation again. */
export const resume = (operation: Operation): Promise<Response> => request(operation)

export function describe(cause: unknown): string {
  if (cause instanceof PurchaseError) return `${cause.message}. ${cause.advice}`
  if (cause instanceof WalletError) return `${cause.message}.`
  return 'The service cannot be reached. A payment that was sent is in the list of your purchases.'
}
