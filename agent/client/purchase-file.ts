/**
 * A purchase on disk: the request, the signed payment and, once there, the answer. It is written before the payment is
 * sent, because whoever loses a payment after sending it can only pay again.
 */
import { link, mkdir, open, readFile, rename, unlink } from 'node:fs/promises'
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
export function writePurchase(path: string, purchase: Purchase): Promise<void> {
  return write(path, purchase, rename)
}

/** The same for a file that must not exist yet. False when it does, and then it is left as it is. */
export async function createPurchase(path: string, purchase: Purchase): Promise<boolean> {
  try {
    await write(path, purchase, async (draft) => {
      // A second name for the draft, because a rename would replace what another has written meanwhile.
      await link(draft, path).finally(() => unlink(draft))
    })
    return true
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false
    throw cause
  }
}

type Publish = (draft: string, path: string) => Promise<void>

async function write(path: string, purchase: Purchase, publish: Publish): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const draft = `${path}.${crypto.randomUUID()}.new`
  const file = await open(draft, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(purchaseSchema.parse(purchase), null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await publish(draft, path)
  const folder = await open(dirname(path))
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Undefined when there is no such file. */
export async function findPurchase(path: string): Promise<Purchase | undefined> {
  try {
    return await readPurchase(path)
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw cause
  }
}

export async function readPurchase(path: string): Promise<Purchase> {
  return purchaseSchema.parse(JSON.parse(await readFile(path, 'utf8')))
}
