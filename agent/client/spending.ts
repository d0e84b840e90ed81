/**
 * The spending of one day, as numbered files in the folder of the purchases. An amount is reserved before a payment is
 * signed, and it stays reserved: a signed payment can be settled whatever the service answers.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { createFileAtomically } from '../../store/atomic-file.ts'
import { errorCode } from '../../store/error-code.ts'
import { makePrivateDirectory } from '../../store/private-files.ts'
import { parseJson } from '../rpc/read-body.ts'
import { PurchaseError } from './purchase-error.ts'

const reservationSchema = z.strictObject({
  /** The name of the purchase. */
  purchase: z.string(),
  /** Micro-USDC. */
  amount: z.int().min(0),
})

type Reservation = z.infer<typeof reservationSchema>

/**
 * Reserves the amount of a purchase. A purchase that was interrupted between its reservation and its signature finds the
 * earlier reservation. Returns false, and changes nothing, if the day would exceed its limit.
 * @param day the UTC date, YYYY-MM-DD
 */
export async function reserveSpending(
  { folder, day, amountMax }: { folder: string; day: string; amountMax: number },
  wanted: Reservation,
): Promise<boolean> {
  await makePrivateDirectory(folder)
  const pathOf = (index: number) => join(folder, `spending-${day}-${index}.json`)
  let spent = 0
  for (let index = 0; ;) {
    const earlier = await findReservation(pathOf(index))
    if (!earlier) {
      if (spent + wanted.amount > amountMax) return false
      // Of several processes one creates the file. The others read it next.
      if (await createFileAtomically(pathOf(index), `${JSON.stringify(wanted)}\n`)) return true
    } else {
      if (earlier.purchase === wanted.purchase && earlier.amount >= wanted.amount) return true
      spent += earlier.amount
      index += 1
    }
  }
}

async function findReservation(path: string): Promise<Reservation | undefined> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    if (errorCode(cause) === 'ENOENT') return undefined
    throw cause
  })
  if (text === undefined) return undefined
  const reservation = reservationSchema.safeParse(parseJson(text)).data
  if (!reservation) throw new PurchaseError('purchase_unreadable', `${path} is not a reservation`)
  return reservation
}
