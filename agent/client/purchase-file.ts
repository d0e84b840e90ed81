/**
 * The file of a purchase: the request, the signed payment and, later, the answer. It is written before the payment is
 * sent, because a buyer who loses a sent payment has to pay again.
 */
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { createFileAtomically, removeOldUnfinished, writeFileAtomically } from '../../store/atomic-file.ts'
import { errorCode } from '../../store/error-code.ts'
import { makePrivateDirectory } from '../../store/private-files.ts'
import { parseJson } from '../rpc/read-body.ts'
import { PurchaseError } from './purchase-error.ts'
import { purchaseRequestSchema } from './purchase-request.ts'

const purchaseSchema = z.strictObject({
  request: purchaseRequestSchema,
  /** The `PAYMENT-SIGNATURE` header. It is a secret: with it anyone can fetch the bought answer. */
  payment: z.string(),
  /** The quote that was signed. */
  quote: z.record(z.string(), z.unknown()),
  signed_at: z.iso.datetime(),
  answer: z.strictObject({ status: z.int(), body: z.string(), payment_response: z.string().nullable() }).nullable(),
})

export type Purchase = z.infer<typeof purchaseSchema>

/** Creates or replaces the file. It is on disk when this resolves, and only its owner can read it. */
export const writePurchase = async (path: string, purchase: Purchase): Promise<void> =>
  writeFileAtomically(path, await prepareFile(path, purchase))

/** Creates the file. Returns false, and changes nothing, if it exists. */
export const createPurchase = async (path: string, purchase: Purchase): Promise<boolean> =>
  createFileAtomically(path, await prepareFile(path, purchase))

/**
 * Removes the temporary files that crashes left in a folder of purchases, or only those of one file. A payment is sent only
 * after its temporary file has become the file of the purchase. A folder that cannot be read fails the purchase later.
 */
export async function removeOldTemporaryFiles(options: { folder: string; file?: string; now: Date }): Promise<void> {
  await removeOldUnfinished(options).catch(() => undefined)
}

/** Creates the folder of the file and returns the text of the file. */
async function prepareFile(path: string, purchase: Purchase): Promise<string> {
  await makePrivateDirectory(dirname(path))
  return `${JSON.stringify(purchaseSchema.parse(purchase), null, 2)}\n`
}

/** Returns undefined if the file does not exist. */
export async function findPurchase(path: string): Promise<Purchase | undefined> {
  try {
    return await readPurchase(path)
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return undefined
    throw cause
  }
}

/** @throws the system's error, or an error that names the file if it is not a purchase */
export async function readPurchase(path: string): Promise<Purchase> {
  const purchase = parsePurchase(parseJson(await readFile(path, 'utf8')))
  if (!purchase) throw new PurchaseError('purchase_unreadable', `${path} is not the file of a purchase`, { file: path })
  return purchase
}

/** Undefined if the JSON is not that of a purchase file. */
export function parsePurchase(value: unknown): Purchase | undefined {
  return purchaseSchema.safeParse(value).data
}
