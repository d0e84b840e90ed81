/** The receiver of a service, kept from its first use: a service that is taken over then gets no payment. */
import * as z from 'zod'
import { sha256Hex } from '../../../store/base/canonical.ts'
import { parseJson } from '../../../store/base/read-body.ts'
import type { Fetch } from '../../../store/base/bounded-fetch.ts'
import { PurchaseError } from './purchase-error.ts'
import { fetchReceiver } from './quote.ts'
import type { BuyerStorage } from './storage.ts'

const pinSchema = z.strictObject({ url: z.string(), network: z.string(), pay_to: z.string() })

/** @throws if the receiver is not known yet and the service does not answer */
export async function pinReceiver(
  storage: BuyerStorage,
  { url, network, fetch }: { url: string; network: string; fetch: Fetch },
): Promise<string> {
  const name = `receiver-${sha256Hex(`${network} ${url}`)}.json`
  const text = await storage.read(name)
  if (text === undefined) {
    const pay_to = await fetchReceiver(fetch, url)
    // Of several processes one creates the entry.
    if (await storage.create(name, `${JSON.stringify({ url, network, pay_to })}\n`)) return pay_to
  }
  const pin = pinSchema.safeParse(parseJson(text ?? (await storage.read(name)) ?? '')).data
  if (pin) return pin.pay_to
  throw new PurchaseError('purchase_unreadable', `${storage.locate(name)} is damaged. Nothing was signed`)
}
