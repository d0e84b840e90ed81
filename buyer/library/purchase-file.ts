/**
 * The file of a purchase: the request, the signed payment and, later, a refusal. It is written before the payment is
 * sent, because a buyer who loses a sent payment has to pay again. A paid answer is in a file of its own with all that,
 * which is created and never replaced.
 */
import * as z from 'zod'
import { isPrivateKey } from '../../agent/payment/accounts.ts'
import { decodeBase64 } from '../../base/base64.ts'
import { parseJson } from '../../base/read-body.ts'
import { parseDocument } from '../../base/strict-json.ts'
import { errorCode } from '../../base/error-code.ts'
import { failWith, PurchaseError, storageFailed } from './purchase-error.ts'
import { purchaseRequestSchema } from './purchase-request.ts'
import { locationOf, type PurchaseEntry } from './storage.ts'

const purchaseSchema = z.strictObject({
  request: purchaseRequestSchema,
  /** The `PAYMENT-SIGNATURE` header. It is a secret: with it anyone can fetch the bought answer. */
  payment: z.string(),
  /** The quote that was signed. */
  quote: z.record(z.string(), z.unknown()),
  signed_at: z.iso.datetime(),
  answer: z
    .strictObject({
      status: z.int(),
      body: z.string(),
      payment_response: z.string().nullable(),
      /** Why the payment was refused. */
      reason: z.string().optional(),
    })
    .nullable(),
  /** Whether the payment was sent once more and refused as ended, so that it was certainly never charged. */
  ended: z.literal(true).optional(),
})

export type Purchase = z.infer<typeof purchaseSchema>

/** Creates or replaces the file. It is durable when this resolves. Do not call it with a paid answer. */
export const writePurchase = ({ storage, name }: PurchaseEntry, purchase: Purchase): Promise<void> =>
  storage.replace(name, toText(purchase))

const PAID_SUFFIX = '.paid.json'

const DELIVERED_SUFFIX = '.delivered.json'

const besideEntry = ({ storage, name }: PurchaseEntry, suffix: string): PurchaseEntry => ({
  storage,
  name: `${name.replace(/(\.paid)?\.json$/, '')}${suffix}`,
})

/** Where the paid answer of a purchase is. */
export const paidEntry = (entry: PurchaseEntry) => besideEntry(entry, PAID_SUFFIX)

/** Exists once the caller has the paid answer of a purchase. */
const deliveredEntry = (entry: PurchaseEntry) => besideEntry(entry, DELIVERED_SUFFIX)

/** Writes that the caller has the whole answer. A failure is harmless: the answer is returned again, free. */
export async function markDelivered(entry: PurchaseEntry, now: Date): Promise<void> {
  const { storage, name } = deliveredEntry(entry)
  await storage.create(name, `${JSON.stringify({ delivered_at: now.toISOString() })}\n`).catch(() => false)
}

export async function isDelivered(entry: PurchaseEntry): Promise<boolean> {
  const { storage, name } = deliveredEntry(entry)
  return (await storage.read(name)) !== undefined
}

/** Whether an entry beside the purchases has this name: of a day, a receiver, an output, or the columns of a list. */
export const isOtherEntry = (name: string): boolean => /^(?:spending|receiver|output|columns)-.*\.json$/.test(name)

/** The names of the purchases of a storage, without those of paid answers and marks. */
export const listNames = async (storage: PurchaseEntry['storage']): Promise<string[]> =>
  (await storage.list('')).filter(
    (name) => !isOtherEntry(name) && !name.endsWith(PAID_SUFFIX) && !name.endsWith(DELIVERED_SUFFIX),
  )

/** Creates the file. Returns false, and changes nothing, if it exists. */
export const createPurchase = ({ storage, name }: PurchaseEntry, purchase: Purchase): Promise<boolean> =>
  storage.create(name, toText(purchase))

const toText = (purchase: Purchase): string => `${JSON.stringify(purchase, null, 2)}\n`

/**
 * Returns undefined if neither the file nor its paid answer exists.
 * @throws PurchaseError if it cannot be read or is not a purchase
 */
export async function findPurchase(entry: PurchaseEntry): Promise<Purchase | undefined> {
  return (await readEntry(paidEntry(entry))) ?? readEntry(entry)
}

/** With these errors of the system no file with this name can exist. */
export const NO_FILE: ReadonlySet<unknown> = new Set(['ENOTDIR', 'EISDIR', 'ENAMETOOLONG'])

async function readEntry(entry: PurchaseEntry): Promise<Purchase | undefined> {
  const file = locationOf(entry)
  const text = await entry.storage.read(entry.name).catch((cause: unknown) => {
    const code = errorCode(cause)
    if (NO_FILE.has(code)) throw storageFailed(cause, file)
    return failWith('outcome_unknown', `${file} cannot be read${code === undefined ? '' : ` (${code})`}`, file)(cause)
  })
  if (text === undefined) return undefined
  const purchase = parsePurchase(parseJson(text))
  if (purchase) return purchase
  if (isPrivateKey(text.trim())) throw new PurchaseError('request_unsupported', `${file} is a key file, not a purchase`)
  throw new PurchaseError('purchase_unreadable', `${file} is not the file of a purchase`, { file })
}

/** @throws PurchaseError if the file does not exist or is not a purchase */
export async function readPurchase(entry: PurchaseEntry): Promise<Purchase> {
  const purchase = await findPurchase(entry)
  if (purchase) return purchase
  const file = locationOf(entry)
  throw new PurchaseError('purchase_unreadable', `${file} does not exist`, { file })
}

/** Undefined if the JSON is not that of a purchase file. */
export function parsePurchase(value: unknown): Purchase | undefined {
  return purchaseSchema.safeParse(value).data
}

const paymentSchema = z.object({
  accepted: z.object({ network: z.string(), asset: z.string() }),
  payload: z.object({
    authorization: z.object({
      from: z.string(),
      to: z.string(),
      value: z.string(),
      nonce: z.string(),
      validBefore: z.string().regex(/^[0-9]{1,12}$/),
    }),
  }),
})

/** The members of the signed payment. Undefined if it has another form. */
export function parsePayment({ payment }: Purchase) {
  const parsed = paymentSchema.safeParse(parseDocument(decodeBase64(payment) ?? '')).data
  if (!parsed) return undefined
  const { accepted, payload } = parsed
  const { from: payer, to: pay_to, value: amount, nonce, validBefore } = payload.authorization
  return { ...accepted, payer, pay_to, amount, nonce, validBefore: new Date(Number(validBefore) * 1000) }
}

/** @throws if the file has no payment in this form */
export function readPayment(purchase: Purchase) {
  const payment = parsePayment(purchase)
  if (!payment) throw new PurchaseError('purchase_unreadable', 'The payment of a purchase cannot be read')
  return payment
}
