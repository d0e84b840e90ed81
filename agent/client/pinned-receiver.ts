/**
 * The receiver of a service, kept from its first use: a service that is taken over, and then publishes another receiver, gets
 * no payment.
 */
import { z } from 'zod'
import { sha256Hex } from '../json/canonical.ts'
import { parseJson } from '../rpc/read-body.ts'
import { PurchaseError } from './purchase-error.ts'
import type { BuyerStorage } from './storage.ts'

const pinSchema = z.strictObject({ url: z.string(), network: z.string(), pay_to: z.string() })

interface PinOptions {
  storage: BuyerStorage
  baseUrl: string
  network: string
  /** Asks the service. */
  readPublished: () => Promise<string>
}

/**
 * Returns the kept receiver, or keeps the published one.
 * @throws PurchaseError if the entry is damaged, or the error of `readPublished`
 */
export async function pinReceiver({ storage, baseUrl: url, network, readPublished }: PinOptions): Promise<string> {
  const name = `receiver-${sha256Hex(`${network} ${url}`)}.json`
  const text = await storage.read(name)
  if (text === undefined) {
    const pay_to = await readPublished()
    // Of several processes one creates the entry.
    if (await storage.create(name, `${JSON.stringify({ url, network, pay_to })}\n`)) return pay_to
  }
  const pin = pinSchema.safeParse(parseJson(text ?? (await storage.read(name)) ?? '')).data
  if (pin) return pin.pay_to
  throw new PurchaseError('purchase_unreadable', `${storage.locate(name)} is damaged. Nothing was signed`)
}
