/**
 * The spending of a UTC day, as numbered entries beside the purchases. Each entry reserves the amount of one signature
 * before it is made.
 */
import * as z from 'zod'
import { toDay } from '../../../store/base/day.ts'
import { parseJson } from '../../../store/base/read-body.ts'
import { PurchaseError } from './purchase-error.ts'
import type { BuyerStorage } from './storage.ts'

const reservationSchema = z.object({
  /** The name of the purchase. */
  purchase: z.string(),
  /** Micro-USDC. */
  amount: z.int().min(0),
})

type Reservation = z.infer<typeof reservationSchema>

interface SpendingOptions {
  storage: BuyerStorage
  /** Micro-USDC for a UTC day. */
  amountMax: number
  now: () => Date
}

/**
 * Returns a function that reserves an amount. It throws a PurchaseError if the day would exceed its limit, or if an
 * entry of the day is lost or damaged.
 */
export function openSpending({ storage, amountMax, now }: SpendingOptions) {
  return async (wanted: Reservation): Promise<void> => {
    const prefix = `spending-${toDay(now())}-`
    let spent = 0
    // A listing made during a write can omit an entry, so every number is read.
    for (let number = 0; ;) {
      const name = `${prefix}${number}.json`
      const reserved = await readReservation(storage, name)
      if (reserved) {
        spent += reserved.amount
        number += 1
        continue
      }
      if (await hasLater(storage, prefix, number)) {
        if (await readReservation(storage, name)) continue
        throw lost(storage.locate(name))
      }
      if (spent + wanted.amount > amountMax)
        throw new PurchaseError(
          'day_limit_reached',
          'The payment would exceed the limit of the day. Nothing was signed',
        )
      // Of several calls and processes one creates the entry. The others read it next.
      if (await storage.create(name, `${JSON.stringify(wanted)}\n`)) return
    }
  }
}

async function hasLater(storage: BuyerStorage, prefix: string, number: number): Promise<boolean> {
  const names = await storage.list(prefix)
  return names.some((name) => Number(/^(\d+)\.json$/.exec(name.slice(prefix.length))?.[1]) > number)
}

/** Undefined if it does not exist. @throws PurchaseError if it is damaged */
async function readReservation(storage: BuyerStorage, name: string): Promise<Reservation | undefined> {
  const text = await storage.read(name)
  if (text === undefined) return undefined
  const reservation = reservationSchema.safeParse(parseJson(text)).data
  if (!reservation) throw lost(storage.locate(name))
  return reservation
}

function lost(name: string): PurchaseError {
  return new PurchaseError('spending_unknown', `${name} is missing or damaged. Nothing was signed`)
}
