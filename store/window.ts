/**
 * The window of the rate limit: who has taken how many places, in the order of time, and what that adds up to. Who is
 * measured against what is not decided here.
 *
 * {@link openWindow} keeps it in LMDB, for all processes of a data directory. It is written without sync, so that a place
 * costs microseconds. A kill loses nothing by that, for the pages are the kernel's; a loss of power may leave a file that
 * LMDB would die of. So the folder is named after the boot of the machine, and no other boot's is ever opened.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ENTRIES_DATABASE, TOTAL_KEY, limitsFolder } from './layout.ts'
import { durableSync, openEnvironment, UnsoundError } from './open.ts'
import { RESERVE_BYTES, reserveIn, type FreeBytes } from './space.ts'

export const PLACE_KINDS = ['unpaid', 'trial', 'known', 'paid', 'failed'] as const

export type PlaceKind = (typeof PLACE_KINDS)[number]

const count = z.int().nonnegative()
const tallySchema = z.strictObject({ unpaid: count, trial: count, known: count, paid: count, failed: count })
const totalSchema = z.strictObject({ revision: count, tally: tallySchema })

/** How many places of each kind. */
export type Tally = z.infer<typeof tallySchema>

export interface Total {
  /** Another one after every change. */
  revision: number
  tally: Tally
}

export interface Entry {
  /** Of `entryKey`. */
  key: string
  tally: Tally
}

/** The port. */
export interface Window {
  /** Runs `work` while no other process does. What it has put is there as a whole afterwards, or, if it throws, not at all. */
  alone<T>(work: () => T): T
  /** What all entries add up to. Outside of `alone` this and what is read after it is of one moment. */
  total(): Total
  /** In the order of time. */
  entries(order?: { newestFirst: boolean }): Iterable<Entry>
  find(key: string): Tally | undefined
  /** Only inside `alone`. An entry without places is removed. */
  put(entry: Entry): void
  close(): Promise<void>
}

export const NO_PLACES: Tally = { unpaid: 0, trial: 0, known: 0, paid: 0, failed: 0 }

export function addUp(one: Tally, other: Tally, sign: 1 | -1 = 1): Tally {
  return {
    unpaid: one.unpaid + sign * other.unpaid,
    trial: one.trial + sign * other.trial,
    known: one.known + sign * other.known,
    paid: one.paid + sign * other.paid,
    failed: one.failed + sign * other.failed,
  }
}

export const isEmpty = (tally: Tally) => PLACE_KINDS.every((kind) => tally[kind] === 0)

/** Linux has a new one after each start of the machine; containers have their host's. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id'
/** In place of it on other systems, where the window is written durably instead. */
const ANY_BOOT = 'any'

interface Options {
  bootId?: string
  freeBytes?: FreeBytes
}

export function openWindow(dataDirectory: string, { bootId = BOOT_ID, freeBytes }: Options = {}): Window {
  const boot = readBoot(bootId)
  const folder = join(limitsFolder(dataDirectory), boot ?? ANY_BOOT)
  removeOthers(folder, limitsFolder(dataDirectory))
  const open = () => openSound(folder, { isDurable: boot === undefined, freeBytes })
  try {
    return open()
  } catch (cause) {
    if (!(cause instanceof UnsoundError)) throw cause
    // Nothing in it is worth an operator's time. Whoever still has such a file open was cut off from it by what damaged it.
    rmSync(folder, { recursive: true, force: true })
    return open()
  }
}

function readBoot(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}

function removeOthers(own: string, folder: string): void {
  try {
    for (const name of readdirSync(folder)) {
      if (join(folder, name) !== own) rmSync(join(folder, name), { recursive: true, force: true })
    }
  } catch {
    // There is none yet, or what is there can stay: it is never opened.
  }
}

interface Opening {
  isDurable: boolean
  freeBytes: FreeBytes | undefined
}

/** In lmdb's documentation, but not in its types. */
interface Fresh {
  resetReadTxn(): void
}

function openSound(folder: string, { isDurable, freeBytes }: Opening): Window {
  const environment = openEnvironment({ folder, kind: 'limits', isDurable })
  const list = environment.openDB<unknown, string>({ name: ENTRIES_DATABASE, encoding: 'json' })
  let isAlone = false
  /** While `alone` runs. */
  let changed: Total | undefined

  function total(): Total {
    // lmdb reads from one snapshot in a turn of the event loop, also what other processes have changed since.
    if (!isAlone) (environment as unknown as Fresh).resetReadTxn()
    return changed ?? totalSchema.parse(environment.get(TOTAL_KEY) ?? { revision: 0, tally: NO_PLACES })
  }

  function* entries({ newestFirst } = { newestFirst: false }): Iterable<Entry> {
    for (const { key, value } of list.getRange({ reverse: newestFirst })) yield { key, tally: tallySchema.parse(value) }
  }

  function find(key: string): Tally | undefined {
    const found = list.get(key)
    return found === undefined ? undefined : tallySchema.parse(found)
  }

  function put({ key, tally }: Entry): void {
    const { revision, tally: before } = total()
    changed = { revision: revision + 1, tally: addUp(addUp(before, tally), find(key) ?? NO_PLACES, -1) }
    if (isEmpty(tally)) list.removeSync(key)
    else list.putSync(key, tally)
  }

  function alone<T>(work: () => T): T {
    isAlone = true
    try {
      return durableSync(() =>
        environment.transactionSync(() => {
          const result = work()
          if (changed) environment.putSync(TOTAL_KEY, changed)
          return result
        }),
      )
    } finally {
      isAlone = false
      changed = undefined
    }
  }

  /** Values that can't be read, or do not add up, would refuse everybody for ever, in every process. */
  function mend(): void {
    try {
      const sum = [...entries()].reduce((tally, entry) => addUp(tally, entry.tally), NO_PLACES)
      if (isEmpty(addUp(sum, total().tally, -1))) return
    } catch {
      // As it is when it doesn't add up.
    }
    const keys = [...list.getKeys()]
    for (const key of keys) list.removeSync(key)
    changed = { revision: 0, tally: NO_PLACES }
  }

  alone(mend)
  const checkReserve = reserveIn(folder, RESERVE_BYTES.sale, freeBytes)
  return {
    alone(work) {
      checkReserve()
      return alone(work)
    },
    total,
    entries,
    find,
    put,
    close: () => environment.close(),
  }
}
