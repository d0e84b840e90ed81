/** Buys with the library of the buyer, one purchase at a time in all tabs, and lists what this browser has bought. */
import { createBuyer } from '../agent/buyer/library/buyer.ts'
import { parsePurchase, readPayment, type Purchase } from '../agent/buyer/library/purchase-file.ts'
import { requestedOperation, restRequest } from '../agent/buyer/library/purchase-request.ts'
import { stateOf, type PurchaseState } from '../agent/buyer/library/purchase-state.ts'
import { pinReceiver } from '../agent/buyer/library/receiver.ts'
import type { Signer } from '../agent/buyer/library/signer.ts'
import type { Operation } from '../agent/operation/operation.ts'
import { OPERATIONS } from '../agent/operation/operations.ts'
import { readSettlementResponse } from '../agent/payment/receipt/read.ts'
import { amountOf, DEPLOYMENTS, type Mode } from '../agent/payment/terms.ts'
import { parseJson } from '../store/base/read-body.ts'
import { storage } from './storage.ts'
import { WalletError, type Connect, type Show } from './wallets.ts'

const LOCK = 'irish-company-purchases'
/** Within this time an equal request shows the answer that was bought. */
const MAX_AGE_SECONDS = 3_600

const { baseUrl = '', mode: given } = document.body.dataset
const mode = given as Mode
const deployment = DEPLOYMENTS[mode]

export const priceOf = (operation: Operation): number => amountOf({ mode }, operation)

export interface Bought {
  status: number
  body: string
  receipt: string
}

/** @throws PurchaseError or WalletError. Nothing is signed if this browser cannot keep a payment. */
export function buy(operation: Operation, connect: Connect, show: Show): Promise<Bought> {
  return navigator.locks.request(LOCK, async () => {
    await requireStorage()
    const total = priceOf(operation)
    const key = await connect({ deployment, total, show })
    return request(operation, { key, amountMax: total, maxAgeSeconds: MAX_AGE_SECONDS })
  })
}

async function requireStorage(): Promise<void> {
  void navigator.storage.persist()
  await storage.replace('probe', new Date().toISOString()).catch(() => {
    throw new WalletError('This browser cannot keep a payment, for example in a private window. Nothing was signed')
  })
}

/** Sends the payment of a purchase again, or shows its answer. Signs nothing. */
export function resume(operation: Operation): Promise<Bought> {
  const signTypedData = () => Promise.reject(new Error('There is no payment to send again'))
  const key: Signer = { address: '0x', signTypedData }
  return navigator.locks.request(LOCK, () => request(operation, { key, amountMax: priceOf(operation) }))
}

interface Payment {
  key: Signer
  amountMax: number
  maxAgeSeconds?: number
}

async function request(operation: Operation, { key, amountMax, ...renewal }: Payment): Promise<Bought> {
  const receiver = { url: baseUrl, network: deployment.network, fetch: globalThis.fetch.bind(globalThis) }
  const payTo = await pinReceiver(storage, receiver)
  const buyer = createBuyer({ url: baseUrl, mode, key, folder: storage, expected: { payTo, amountMax }, ...renewal })
  const { url, ...init } = restRequest(baseUrl, operation)
  const response = await buyer.fetch(url, init)
  return { status: response.status, body: await response.text(), receipt: response.headers.get('Receipt-Check') ?? '' }
}

export interface Listed {
  name: string
  operation: Operation
  purchase: Purchase
  state: PurchaseState
  amount: number
  transaction: string | undefined
}

/** The purchases of this browser, the newest first. */
export async function listPurchases(): Promise<Listed[]> {
  const names = (await storage.list('')).filter((name) => /^[0-9a-f]{64}-\d+\.json$/.test(name))
  // A damaged entry does not hide the others.
  const listed = await Promise.all(names.map((name) => readListed(name).catch(() => undefined)))
  return listed
    .filter((each) => each !== undefined)
    .toSorted((one, other) => other.purchase.signed_at.localeCompare(one.purchase.signed_at))
}

async function readListed(name: string): Promise<Listed | undefined> {
  const purchase = parsePurchase(parseJson((await storage.read(name)) ?? ''))
  const operation = purchase && requestedOperation(purchase.request, OPERATIONS)
  if (!operation) return undefined
  const { answer } = purchase
  const settled = answer?.payment_response == null ? undefined : readSettlementResponse(answer.payment_response)
  const amount = Number(readPayment(purchase).amount)
  const state = stateOf(purchase, new Date())
  return { name, operation, purchase, state, amount, transaction: settled?.transaction }
}

export const readFile = async (name: string): Promise<string> => (await storage.read(name)) ?? ''
