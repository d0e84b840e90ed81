/** The buyer of the commands that make many purchases in one folder. It pays only the receiver of its first purchase. */
import { FREE_PATHS } from '../operation/paths.ts'
import { DEPLOYMENTS, type Mode } from '../payment/terms.ts'
import { fetchDocument } from './bounded-fetch.ts'
import type { BuyerRuntime } from './buy.ts'
import { createBuyer, type Buyer, type BuyerOptions } from './buyer.ts'
import { folderStorage } from './folder-storage.ts'
import { pinReceiver } from './pinned-receiver.ts'
import { termsDocumentSchema } from './quote.ts'

export interface OpenBuyerOptions {
  baseUrl: string
  mode: Mode
  key: `0x${string}`
  /** The purchases and the spending of each day. */
  folder: string
  /** The receiver of payments. By default the one that the service published when the folder was used first. */
  payTo: string | undefined
  /** Micro-USDC for one request. */
  amountMax: number
  /** Micro-USDC for a UTC day, over all processes of the folder. By default there is no limit. */
  amountPerDayMax: number | undefined
  maxAgeSeconds: number
  isUnusable: BuyerOptions['isUnusable']
  runtime: BuyerRuntime & { now: () => Date }
}

/** @throws if the receiver is not known yet and the service does not answer */
export async function openBuyer(options: OpenBuyerOptions): Promise<Buyer> {
  const { baseUrl, mode, key, folder, amountMax, amountPerDayMax, maxAgeSeconds, isUnusable, runtime } = options
  const storage = folderStorage(folder)
  const { network, asset, domain } = DEPLOYMENTS[mode]
  const readPublished = async () => {
    const { access } = await fetchDocument(runtime.fetch, `${baseUrl}${FREE_PATHS.metadata}`, termsDocumentSchema)
    return access.pay_to
  }
  const payTo = options.payTo ?? (await pinReceiver({ storage, baseUrl, network, readPublished }))
  const limits = { amountMax, ...(amountPerDayMax !== undefined && { amountPerDayMax }) }
  const optional = isUnusable && { isUnusable }
  const expected = { network, asset, domain, payTo, ...limits }
  return createBuyer({ key, folder: storage, expected, maxAgeSeconds, runtime, ...optional })
}
