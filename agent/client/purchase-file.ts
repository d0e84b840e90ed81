/**
 * A purchase on disk: the request, the signed payment and, once there, the answer. It is written before the payment is
 * sent, because whoever loses a payment after sending it can only pay again.
 */
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { purchaseRequestSchema } from './requests.ts'

const purchaseSchema = z.strictObject({
  request: purchaseRequestSchema,
  /** The `PAYMENT-SIGNATURE` header: whoever has it can fetch the answer it has bought. */
  payment: z.string(),
  /** The quote it was signed for. */
  quote: z.record(z.string(), z.unknown()),
  signed_at: z.iso.datetime(),
  answer: z.strictObject({ status: z.int(), body: z.string(), payment_response: z.string().nullable() }).nullable(),
})

export type Purchase = z.infer<typeof purchaseSchema>

/** Writes the file whole and to disk before it resolves; readable by its owner only. */
export async function writePurchase(path: string, purchase: Purchase): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const draft = `${path}.new`
  const file = await open(draft, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(purchaseSchema.parse(purchase), null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
  const folder = await open(dirname(path))
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

export async function readPurchase(path: string): Promise<Purchase> {
  return purchaseSchema.parse(JSON.parse(await readFile(path, 'utf8')))
}
