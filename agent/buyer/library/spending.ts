/**
 * The spending of a UTC day, as numbered entries beside the purchases. Each entry reserves the amount of a payment
 * before it is signed. It counts until midnight UTC, whatever becomes of its payment.
 */
import * as z from 'zod'
import { toDay } from '../../../store/base/day.ts'
import { parseJson } from '../../../store/base/read-body.ts'
import { PurchaseError } from './purchase-error.ts'
import { listNames, parsePurchase } from './purchase-file.ts'
import type { BuyerStorage } from './storage.ts'

const PREFIX = 'spending-'
const nameOf = (day: string, number: number) => `${PREFIX}${day}-${number}.json`

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
 * Returns a function that reserves an amount and returns the name of the reservation. It throws a PurchaseError if the
 * day would exceed its limit, or if an entry of the day is lost or damaged.
 */
export function openSpending({ storage, amountMax, now }: SpendingOptions) {
  /** The number of reservations that this process has seen, by their day. */
  const seen = new Map<string, number>()
  /**
   * Reservations of this process run one after another. Otherwise one would read the day before the other has written.
   */
  let last: Promise<unknown> = Promise.resolve()

  async function readChecked(day: string): Promise<Reservation[]> {
    const reservations = await readDay(storage, day)
    const before = seen.get(day)
    if (before === undefined) await requireReservations(storage, day, reservations)
    if (reservations.length < (before ?? 0)) throw lost(nameOf(day, reservations.length))
    seen.set(day, reservations.length)
    return reservations
  }

  async function reserve(wanted: Reservation): Promise<string> {
    const day = toDay(now())
    for (;;) {
      const reservations = await readChecked(day)
      if (reservations.reduce((sum, { amount }) => sum + amount, wanted.amount) > amountMax)
        throw new PurchaseError(
          'day_limit_reached',
          'The payment would exceed the limit of the day. Nothing was signed',
        )
      // Of several processes one creates the entry. The others read it next.
      const name = nameOf(day, reservations.length)
      if (!(await storage.create(name, `${JSON.stringify(wanted)}\n`))) continue
      seen.set(day, reservations.length + 1)
      return name
    }
  }

  return (wanted: Reservation): Promise<string> => {
    const reserved = last.then(() => reserve(wanted))
    last = reserved.catch(() => undefined)
    return reserved
  }
}

/** @throws PurchaseError if an entry is damaged, or missing before another one */
async function readDay(storage: BuyerStorage, day: string): Promise<Reservation[]> {
  const start = nameOf(day, 0).replace('0.json', '')
  const names = await storage.list(start)
  const numbers = names.flatMap((name) => /^(\d+)\.json$/.exec(name.slice(start.length))?.[1] ?? [])
  const reservations: Reservation[] = []
  // Reads every number, because a listing made during a write can omit an entry.
  for (let number = 0; number <= Math.max(-1, ...numbers.map(Number)); number += 1) {
    const reservation = await readReservation(storage, nameOf(day, number))
    if (!reservation) throw lost(storage.locate(nameOf(day, number)))
    reservations.push(reservation)
  }
  return reservations
}

async function readReservation(storage: BuyerStorage, name: string): Promise<Reservation | undefined> {
  const text = await storage.read(name)
  return text === undefined ? undefined : reservationSchema.safeParse(parseJson(text)).data
}

/** @throws PurchaseError unless each purchase of the day has its reservation */
async function requireReservations(storage: BuyerStorage, day: string, reservations: Reservation[]): Promise<void> {
  const purchases = new Map(reservations.map(({ purchase }, number) => [nameOf(day, number), purchase]))
  for (const name of await listNames(storage)) {
    if (name.startsWith(PREFIX)) continue
    const reservation = parsePurchase(parseJson((await storage.read(name)) ?? ''))?.reservation
    if (!reservation || !new RegExp(`^${PREFIX}${day}-\\d+\\.json$`).test(reservation)) continue
    // Another process can have made both after the day was read.
    const purchase = purchases.get(reservation) ?? (await readReservation(storage, reservation))?.purchase
    if (purchase !== name) throw lost(reservation)
  }
}

function lost(name: string): PurchaseError {
  return new PurchaseError('spending_unknown', `${name} is missing or damaged. Nothing was signed`)
}
