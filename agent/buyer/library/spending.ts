/**
 * The spending of a UTC day, as numbered entries beside the purchases. Each entry reserves the amount of a payment
 * before it is signed. It counts until midnight UTC, whatever becomes of its payment.
 */
import * as z from 'zod'
import { parseJson } from '../../../store/base/read-body.ts'
import { PurchaseError } from './purchase-error.ts'
import { listNames, parsePurchase } from './purchase-file.ts'
import { openStorage } from './folder-storage.ts'
import type { BuyerStorage } from './storage.ts'
import { toDay } from '../../../store/base/day.ts'

const PREFIX = 'spending-'

const reservationSchema = z.object({
  /** The name of the purchase. */
  purchase: z.string(),
  /** Micro-USDC. */
  amount: z.int().min(0),
})

type Reservation = z.infer<typeof reservationSchema>

/**
 * Returns a function that reserves an amount and returns the name of the reservation. It throws a PurchaseError if the
 * day would exceed its limit, or if an entry of the day is lost or damaged.
 * @param amountMax micro-USDC for a UTC day
 */
export function openSpending(storage: BuyerStorage, amountMax: number, now: () => Date) {
  /** The number of reservations that this process has seen, by the prefix of their names. */
  const seen = new Map<string, number>()
  /**
   * Reservations of this process run one after another. Otherwise one would read the day before the other has written.
   */
  let last: Promise<unknown> = Promise.resolve()

  async function readChecked(day: string): Promise<Day> {
    const current = await readDay(storage, day)
    const before = seen.get(current.prefix)
    if (before === undefined) await requireReservations(storage, current)
    if (current.reservations.length < (before ?? 0)) throw lost(current.prefix)
    seen.set(current.prefix, current.reservations.length)
    return current
  }

  async function reserve(wanted: Reservation): Promise<string> {
    const day = toDay(now())
    for (;;) {
      const current = await readChecked(day)
      const spent = current.reservations.reduce((sum, { amount }) => sum + amount, 0)
      if (spent + wanted.amount > amountMax)
        throw new PurchaseError(
          'day_limit_reached',
          'The payment would exceed the limit of the day. Nothing was signed',
        )
      // Of several processes one creates the entry. The others read it next.
      const name = `${current.prefix}${current.reservations.length}.json`
      if (!(await storage.create(name, `${JSON.stringify(wanted)}\n`))) continue
      seen.set(current.prefix, current.reservations.length + 1)
      return name
    }
  }

  return (wanted: Reservation): Promise<string> => {
    const reserved = last.then(() => reserve(wanted))
    last = reserved.catch(() => undefined)
    return reserved
  }
}

/**
 * Begins the spending of the current day again. For a user who accepts that an entry of the day is lost or damaged: the
 * payments of the day up to now no longer count.
 * @example
 * await resetSpending('purchases')
 */
export async function resetSpending(folder: string | BuyerStorage, now = new Date()): Promise<void> {
  const storage = openStorage(folder)
  const day = toDay(now)
  for (let number = (await lastReset(storage, day)) + 1; ; number += 1) {
    if (await storage.create(resetName(day, number), `${JSON.stringify({ reset_at: now.toISOString() })}\n`)) return
  }
}

interface Day {
  day: string
  /** How often the day was reset. Reservations before the last reset do not count. */
  resets: number
  prefix: string
  reservations: (Reservation & { name: string })[]
}

const resetName = (day: string, number: number) => `${PREFIX}${day}-reset-${number}.json`
const prefixOf = (day: string, resets: number) => `${PREFIX}${day}-${resets === 0 ? '' : `r${resets}-`}`

/** The number of the last reset of a day, or 0. */
async function lastReset(storage: BuyerStorage, day: string): Promise<number> {
  const names = await storage.list(resetName(day, 0).replace('0.json', ''))
  return Math.max(0, ...names.map((name) => Number(/-(\d+)\.json$/.exec(name)?.[1])))
}

async function readDay(storage: BuyerStorage, day: string): Promise<Day> {
  const resets = await lastReset(storage, day)
  const prefix = prefixOf(day, resets)
  const names = await storage.list(prefix)
  const numbers = names.flatMap((name) => /^(\d+)\.json$/.exec(name.slice(prefix.length))?.[1] ?? [])
  const reservations: Day['reservations'] = []
  for (let number = 0; number <= Math.max(-1, ...numbers.map(Number)); number += 1) {
    const name = `${prefix}${number}.json`
    // Reads every number, because a listing made during a write can omit an entry.
    const reservation = await readReservation(storage, name)
    if (!reservation) throw lost(storage.locate(name))
    reservations.push({ ...reservation, name })
  }
  return { day, resets, prefix, reservations }
}

async function readReservation(storage: BuyerStorage, name: string): Promise<Reservation | undefined> {
  const text = await storage.read(name)
  return text === undefined ? undefined : reservationSchema.safeParse(parseJson(text)).data
}

/** @throws PurchaseError unless each purchase of the day has its reservation */
async function requireReservations(storage: BuyerStorage, { day, resets, reservations }: Day): Promise<void> {
  const purchases = new Map(reservations.map(({ name, purchase }) => [name, purchase]))
  for (const name of await listNames(storage)) {
    const reservation = parsePurchase(parseJson((await storage.read(name)) ?? ''))?.reservation
    const found = new RegExp(`^${PREFIX}${day}-(?:r(\\d+)-)?\\d+\\.json$`).exec(reservation ?? '')
    if (!reservation || !found || Number(found[1] ?? 0) < resets) continue
    // Another process can have made both after the day was read.
    const purchase = purchases.get(reservation) ?? (await readReservation(storage, reservation))?.purchase
    if (purchase !== name) throw lost(reservation)
  }
}

function lost(name: string): PurchaseError {
  return new PurchaseError('spending_unknown', `${name} is missing or damaged. Nothing was signed`)
}
