/** Buys with the library of the buyer, one purchase at a time in all tabs. */
import { createBuyer } from '../agent/buyer/library/buyer.ts'
import { restRequest } from '../agent/buyer/library/purchase-request.ts'
import type { Signer } from '../agent/buyer/library/signer.ts'
import type { Operation } from '../agent/operation/operation.ts'
import { amountOf, DEPLOYMENTS, type Mode } from '../agent/payment/terms.ts'
import { storage } from './storage.ts'
import { WalletError, type Connect, type Show } from './wallets.ts'

const LOCK = 'irish-company-purchases'
/** Within this time an equal request shows the answer that was bought. */
const MAX_AGE_SECONDS = 3_600

const { baseUrl = '', mode: given } = document.body.dataset
const mode = given as Mode
const deployment = DEPLOYMENTS[mode]

export const priceOf = (operation: Operation): number => amountOf({ mode }, operation)

export interface ShownAnswer {
  status: number
  body: string
  receipt: string
}

/** @throws PurchaseError or WalletError. Nothing is signed if this browser cannot keep a payment. */
export function buy(operation: Operation, connect: Connect, show: Show): Promise<ShownAnswer> {
  return navigator.locks.request(LOCK, async () => {
    await requireStorage()
    const total = priceOf(operation)
    const key = await connect({ deployment, total, show })
    return request(operation, key, { maxAgeSeconds: MAX_AGE_SECONDS })
  })
}

async function requireStorage(): Promise<void> {
  void navigator.storage.persist()
  await storage.replace('probe', new Date().toISOString()).catch(() => {
    throw new WalletError('This browser cannot keep a payment, for example in a private window. Nothing was signed')
  })
}

/** Sends the payment of a purchase again, or shows its answer. Signs nothing. */
export function resume(operation: Operation): Promise<ShownAnswer> {
  const signTypedData = () => Promise.reject(new Error('There is no payment to send again'))
  const key: Signer = { address: '0x', signTypedData }
  return navigator.locks.request(LOCK, () => request(operation, key))
}

async function request(
  operation: Operation,
  key: Signer,
  renewal: { maxAgeSeconds?: number } = {},
): Promise<ShownAnswer> {
  const expected = { payTo: 'published', amountMax: priceOf(operation) }
  const buyer = createBuyer({ url: baseUrl, mode, key, folder: storage, expected, ...renewal })
  const { url, ...init } = restRequest(baseUrl, operation)
  const response = await buyer.fetch(url, init)
  return { status: response.status, body: await response.text(), receipt: response.headers.get('Receipt-Check') ?? '' }
}
