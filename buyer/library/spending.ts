/**
 * The spending of a UTC day, as numbered entries beside the purchases. Each entry reserves the amount of a payment
 * before it is signed. It counts until midnight UTC, whatever becomes of its payment.
 */
import * as z from 'zod'
import { parseJson } from '../../base/read-body.ts'
import { PurchaseError } from './purchase-error.ts'
import type { BuyerStorage } from './storage.ts'
import { toDay } from '../../base/day.ts'

const PREFIX = 'spending-'

const reservationSchema = z.object({
  /** The name of the purchase. */
  purchase: z.string(),
  /** Micro-USDC. */
  amount: z.int().min(0),
})

type Reservation = z.infer<typeof reservationSchema>

/**
 * Returns a function that reserves an amount. It throws a PurchaseError if the day would exceed its limit, if an entry
 * of the day is damaged, or if one that this process has seen, or one before another, is missing.
 * @param amountMax micro-USDC for a UTC day
 */
export function openSpending(storage: BuyerStorage, amountMax: number, now: () => Date) {
  /** The number of reservations that this process has seen, by the prefix of their names. */
  const seen = new Map<string, number>()
  /**
   * Reservations of this process run one after another. Otherwise one would read the day before the other has written.
   */
  let last: Promise<unknown> = Promise.resolve()

  async function reserve(wanted: Reservation): Promise<void> {
    const prefix = `${PREFIX}${toDay(now())}-`
    for (;;) {
      const reservations = await readDay(storage, prefix)
      if (reservations.length < (seen.get(prefix) ?? 0)) throw lost(prefix)
      seen.set(prefix, reservations.length)
      const spent = reservations.reduce((sum, { amount }) => sum + amount, 0)
      if (spent + wanted.amount > amountMax)
        throw new PurchaseError(
          'day_limit_reached',
          'The payment would exceed the limit of the day. Nothing was signed',
        )
      // Of several processes one creates the entry. The others read it next.
      const name = `${prefix}${reservations.length}.json`
      if (!(await storage.create(name, `${JSON.stringify(wanted)}\n`))) continue
      seen.set(prefix, reservations.length + 1)
      return
    }
  }

  return (wanted: Reservation): Promise<void> => {
    const reserved = last.then(() => reserve(wanted))
    last = reserved.catch(() => undefined)
    return reserved
  }
}

async function readDay(storage: BuyerStorage, prefix: string): Promise<Reservation[]> {
  const names = await storage.list(prefix)
  const numbers = names.flatMap((name) => /^(\d+)\.json$/.exec(name.slice(prefix.length))?.[1] ?? [])
  const reservations: Reservation[] = []
  for (let number = 0; number <= Math.max(-1, ...numbers.map(Number)); number += 1) {
    const name = `${prefix}${number}.json`
    // Reads every number, because a listing made during a write can omit an entry.
    const reservation = await readReservation(storage, name)
    if (!reservation) throw lost(storage.locate(name))
    reservations.push(reservation)
  }
  return reservations
}

async function readReservation(storage: BuyerStorage, name: string): Promise<Reservation | undefined> {
  const text = await storage.read(name)
  return text === undefined ? undefined : reservationSchema.safeParse(parseJson(text)).data
}

function lost(name: string): PurchaseError {
  return new PurchaseError('spending_unknown', `${name} is missing or damaged. Nothing was signed`)
}
