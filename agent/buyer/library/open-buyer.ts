/**
 * The buyer of the commands that make many purchases in one folder. It pays only the receiver of its first purchase.
 */
import { FREE_PATHS } from '../../operation/endpoints.ts'
import { DEPLOYMENTS, type Mode } from '../../payment/terms.ts'
import { parseJson } from '../../../store/base/read-body.ts'
import { fetchText, type Fetch } from '../../../store/base/bounded-fetch.ts'
import { createBuyer, type Buyer, type BuyerOptions } from './buyer.ts'
import { folderStorage } from './folder-storage.ts'
import { pinReceiver } from './receiver.ts'
import { keySetSchema } from './verify-purchase.ts'

export interface OpenBuyerOptions extends Pick<BuyerOptions, 'key' | 'readAuthorization' | 'allowance'> {
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
  const { mode, key, folder, baseUrl: url, amountMax, amountPerDayMax, maxAgeSeconds, readAuthorization } = options
  const runtime = { ...options.runtime, fetch: withKeySetCache(options) }
  const { network } = DEPLOYMENTS[mode]
  const payTo = options.payTo ?? (await pinReceiver(folderStorage(folder), { url, network, fetch: runtime.fetch }))
  const expected = { payTo, amountMax, amountPerDayMax }
  const { allowance } = options
  return createBuyer({ url, mode, key, folder, expected, maxAgeSeconds, readAuthorization, allowance, runtime })
}

/** The buyers of one folder, by the micro-USDC that they pay for a request. */
export function openBuyers(options: Omit<OpenBuyerOptions, 'amountMax'>): (amountMax: number) => Promise<Buyer> {
  const buyers = new Map<number, Promise<Buyer>>()
  return (amountMax) => {
    const buyer = buyers.get(amountMax) ?? openBuyer({ ...options, amountMax })
    buyers.set(amountMax, buyer)
    return buyer
  }
}

/** So that a list does not fetch the key set for each receipt. A new key is published for longer before it signs. */
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
