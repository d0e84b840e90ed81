/**
 * One purchase in one call, for other programs. The file identifies the purchase: a later call with the same file, also
 * after a crash or a lost answer, sends the saved payment again and signs nothing.
 */
import { dirname } from 'node:path'
import { removeOldUnfinished } from '../../../store/files/atomic-file.ts'
import { RUNTIME, type BuyerRuntime } from './buy.ts'
import { buyIntoFile, requireTerms, type BoughtAnswer } from './buy-into-file.ts'
import { fileEntry } from './folder-storage.ts'
import { PurchaseError } from './purchase-error.ts'
import type { ExpectedTerms } from './quote.ts'

export interface BuyOnceOptions {
  request: { method?: 'GET' | 'POST'; url: string; headers?: Record<string, string>; body?: string }
  /** The terms that the quote must have; otherwise nothing is signed. `resource` defaults to the URL of the request. */
  expected: Omit<ExpectedTerms, 'resource'> & {
    resource?: string
    /** Micro-USDC, decimal digits. */
    amount: string
  }
  privateKey: `0x${string}`
  /** The file of this purchase. Keep it secret: anyone who has it can fetch the answer. */
  file: string
  /** `ignore`: does not verify the receipt, and does not fetch the key set. */
  receipts?: 'verify' | 'ignore'
  runtime?: Partial<BuyerRuntime>
}

/**
 * Returns the bought answer or the refusal.
 * @throws if the quote differs from `expected`, if the file belongs to another request, if no answer arrives, or if the
 *   receipt is wrong. The same call can then be repeated without a second charge
 */
export async function buyOnce(options: BuyOnceOptions): Promise<BoughtAnswer> {
  const { privateKey, file, receipts = 'verify' } = options
  const { amount, ...expected } = options.expected
  const runtime = { ...RUNTIME, ...options.runtime }
  const { method = 'GET', url, headers = {}, body = null } = options.request
  await removeOldUnfinished({ folder: dirname(file), file, now: runtime.now() }).catch(() => undefined)
  return buyIntoFile({
    request: { method, url, headers, body },
    entry: fileEntry(file),
    privateKey,
    approve(quote) {
      requireTerms(quote, { resource: url, ...expected })
      if (quote.requirements.amount === amount) return
      throw new PurchaseError('quote_unexpected', 'The quote has an unexpected amount. Nothing was signed')
    },
    receipts,
    runtime,
  })
}
