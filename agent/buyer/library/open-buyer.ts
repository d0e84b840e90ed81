/**
 * The buyer of the commands that make many purchases in one folder. It pays only the receiver of its first purchase.
 */
import { z } from 'zod'
import { sha256Hex } from '../../../store/base/canonical.ts'
import { FREE_PATHS } from '../../operation/paths.ts'
import { DEPLOYMENTS, type Mode } from '../../payment/terms.ts'
import { parseJson } from '../../../store/base/read-body.ts'
import { fetchText, type Fetch } from '../../../store/base/bounded-fetch.ts'
import { createBuyer, PurchaseError, type Buyer, type BuyerOptions } from './buyer.ts'
import { folderStorage } from './folder-storage.ts'
import { fetchReceiver } from './quote.ts'
import { keySetSchema } from './verify-purchase.ts'

export interface OpenBuyerOptions extends Pick<BuyerOptions, 'key' | 'isUnusable'> {
  baseUrl: string
  mode: Mode
  /** The purchases and the spending of each day. */
  folder: string
  /** By default the one that the service published when the folder was used first. */
  payTo?: string | undefined
  /** Micro-USDC for one request. */
  amountMax: number
  /** Micro-USDC for a UTC day, over all processes of the folder. By default there is no limit. */
  amountPerDayMax?: number | undefined
  maxAgeSeconds: number
  runtime: NonNullable<BuyerOptions['runtime']>
}

/** @throws if the receiver is not known yet and the service does not answer */
export async function openBuyer(options: OpenBuyerOptions): Promise<Buyer> {
  const { mode, key, folder, amountMax, amountPerDayMax, maxAgeSeconds, isUnusable } = options
  const { network, asset, domain } = DEPLOYMENTS[mode]
  const payTo = options.payTo ?? (await pinReceiver(options))
  const expected = { network, asset, domain, payTo, amountMax, amountPerDayMax }
  const runtime = { ...options.runtime, fetch: withKeySetCache(options) }
  return createBuyer({ key, folder, expected, maxAgeSeconds, isUnusable, runtime })
}

const pinSchema = z.strictObject({ url: z.string(), network: z.string(), pay_to: z.string() })

/**
 * The receiver of a service, kept from its first use: a service that is taken over, and then publishes another
 * receiver, gets no payment.
 */
async function pinReceiver({ folder, baseUrl: url, mode, runtime }: OpenBuyerOptions): Promise<string> {
  const storage = folderStorage(folder)
  const { network } = DEPLOYMENTS[mode]
  const name = `receiver-${sha256Hex(`${network} ${url}`)}.json`
  const text = await storage.read(name)
  if (text === undefined) {
    const pay_to = await fetchReceiver(runtime.fetch, url)
    // Of several processes one creates the entry.
    if (await storage.create(name, `${JSON.stringify({ url, network, pay_to })}\n`)) return pay_to
  }
  const pin = pinSchema.safeParse(parseJson(text ?? (await storage.read(name)) ?? '')).data
  if (pin) return pin.pay_to
  throw new PurchaseError('purchase_unreadable', `${storage.locate(name)} is damaged. Nothing was signed`)
}

/** Saves a list a request for each receipt. A new key is in the key set for an hour before it signs. */
const KEY_SET_AGE_MS_MAX = 60_000

function withKeySetCache({ baseUrl, runtime: { fetch, now } }: OpenBuyerOptions): Fetch {
  let kept: { text: string; at: number } | undefined
  return async (input, init) => {
    if (input !== `${baseUrl}${FREE_PATHS.jwks}`) return fetch(input, init)
    if (kept && now().getTime() - kept.at < KEY_SET_AGE_MS_MAX) return new Response(kept.text)
    const { response, text } = await fetchText(fetch, input, init)
    const isKeySet = response.status === 200 && keySetSchema.safeParse(parseJson(text)).success
    kept = isKeySet ? { text, at: now().getTime() } : undefined
    return new Response(text, { status: response.status })
  }
}
