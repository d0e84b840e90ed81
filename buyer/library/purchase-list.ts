/** What was bought, for people and programs: without the payments, which fetch the bought answers. */
import { openStorage } from '#open-storage'
import { toNamed } from '../../agent/operation/operation.ts'
import { outcomeJson } from './outcome.ts'
import { readPayment } from './purchase-file.ts'
import { readAll, type ListedPurchase } from './purchase-state.ts'
import type { BuyerStorage } from './storage.ts'

export type PurchaseSummary =
  | ({ kind: 'purchase' } & ReturnType<typeof purchaseJson>)
  /** The file is damaged. It can hold a payment that was sent. */
  | { kind: 'unreadable'; file: string }

/** A purchase in JSON output. */
export function purchaseJson(storage: BuyerStorage, { name, purchase, operation, outcome, amount }: ListedPurchase) {
  const { network, payer } = readPayment(purchase)
  return {
    file: storage.locate(name),
    signed_at: purchase.signed_at,
    ...(operation ? toNamed(operation) : { operation: null, input: null }),
    /** Micro-USDC. */
    amount,
    network,
    payer,
    ...outcomeJson(outcome),
  }
}

/**
 * The purchases of a folder or another storage, the oldest first, and then the damaged files. None has its payment.
 * @example
 * for (const each of await listPurchases('purchases'))
 *   if (each.kind === 'purchase') console.log(each.signed_at, each.operation, each.amount, each.charged, each.file)
 */
export async function listPurchases(folder: string | BuyerStorage): Promise<PurchaseSummary[]> {
  const storage = openStorage(folder)
  const { listed, damaged } = await readAll(storage, new Date())
  return [
    ...listed.map((each) => Object.assign({ kind: 'purchase' as const }, purchaseJson(storage, each))),
    ...damaged.map((name) => ({ kind: 'unreadable' as const, file: storage.locate(name) })),
  ]
}
