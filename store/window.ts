/**
 * The sliding window of the rate limit: entries with counts of slots, in the order of time, and their sum. The limits are in
 * store/slots.ts.
 *
 * {@link openWindow} keeps the window in LMDB, shared by all processes of a data directory. Writes are not synced,
 * so they are fast. A kill loses nothing, because the kernel has the pages. A power loss can leave a file that crashes
 * LMDB, so the folder is named after the boot of the machine, and a folder of another boot is never opened.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { createReserveCheck, FREE_BYTES_MIN, type ReadFreeBytes } from './disk-space.ts'
import { InvalidEnvironmentError, openEnvironment, runWriteSync } from './environment.ts'
import { ENTRIES_DATABASE, TOTAL_KEY, limitsFolder } from './layout.ts'
import { SLOT_KINDS } from './slots.ts'

const count = z.int().nonnegative()
const countsSchema = z.record(z.enum(SLOT_KINDS), count)
const totalSchema = z.strictObject({ revision: count, counts: countsSchema })

/** The number of slots of each kind. */
export type SlotCounts = z.infer<typeof countsSchema>

/** `revision` changes with every write. */
export type WindowTotal = z.infer<typeof totalSchema>

export interface WindowEntry {
  /** A `windowEntryKey`. */
  key: string
  counts: SlotCounts
}

/** The interface of the window, also implemented in memory (store/memory-window.ts). */
export interface SlidingWindow {
  /** Runs `work` while no other process runs a transaction. If `work` throws, none of its changes are kept. */
  transaction<T>(work: () => T): T
  /** The sum of all entries. Outside a transaction, this call and the reads after it see one state of the window. */
  total(): WindowTotal
  /** In the order of time. */
  entries(order?: { newestFirst: boolean }): Iterable<WindowEntry>
  get(key: string): SlotCounts | undefined
  /** Only inside a transaction. An entry without slots is removed. */
  put(entry: WindowEntry): void
  close(): Promise<void>
}

export const NO_SLOTS: SlotCounts = { trial: 0, known: 0, paid: 0, failed: 0 }

export const addCounts = (one: SlotCounts, other: SlotCounts) => combineCounts(one, other, 1)
export const subtractCounts = (one: SlotCounts, other: SlotCounts) => combineCounts(one, other, -1)

function combineCounts(one: SlotCounts, other: SlotCounts, sign: 1 | -1): SlotCounts {
  const combined = { ...one }
  for (const kind of SLOT_KINDS) combined[kind] += sign * other[kind]
  return combined
}

export const hasNoSlots = (counts: SlotCounts) => SLOT_KINDS.every((kind) => counts[kind] === 0)

/** Linux generates a new id at every boot. Containers see the id of their host. */
const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id'
/** The folder's name on systems without a boot id. There the window is written durably. */
const ANY_BOOT = 'any'

interface WindowOptions {
  bootIdFile?: string
  freeBytes?: ReadFreeBytes
}

export function openWindow(dataDirectory: string, options: WindowOptions = {}): SlidingWindow {
  const { bootIdFile = BOOT_ID_FILE, freeBytes } = options
  const bootId = readBootId(bootIdFile)
  const folder = join(limitsFolder(dataDirectory), bootId ?? ANY_BOOT)
  removeOtherBoots(limitsFolder(dataDirectory), folder)
  const open = () => new LmdbWindow(folder, { isDurable: bootId === undefined, freeBytes })
  try {
    return open()
  } catch (cause) {
    if (!(cause instanceof InvalidEnvironmentError)) throw cause
    // The window has only the counts of one minute, so it is replaced by an empty one.
    rmSync(folder, { recursive: true, force: true })
    return open()
  }
}

function readBootId(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}

function removeOtherBoots(folder: string, current: string): void {
  try {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name)
      if (path !== current) rmSync(path, { recursive: true, force: true })
    }
  } catch {
    // The folder does not exist yet, or cannot be changed. Folders of other boots are never opened.
  }
}

/** lmdb documents this method, but its types lack it. */
interface ResettableReads {
  resetReadTxn(): void
}

class LmdbWindow implements SlidingWindow {
  readonly #environment
  readonly #entries
  readonly #checkReserve
  #isInTransaction = false
  /** The new total during a transaction. */
  #changedTotal: WindowTotal | undefined

  constructor(folder: string, { isDurable, freeBytes }: { isDurable: boolean; freeBytes: ReadFreeBytes | undefined }) {
    this.#environment = openEnvironment({ folder, kind: 'limits', isDurable })
    this.#entries = this.#environment.openDB<unknown, string>({ name: ENTRIES_DATABASE, encoding: 'json' })
    this.#checkReserve = createReserveCheck(folder, FREE_BYTES_MIN.sale, freeBytes)
    this.#runTransaction(() => this.#clearIfInconsistent())
  }

  transaction<T>(work: () => T): T {
    this.#checkReserve()
    return this.#runTransaction(work)
  }

  total(): WindowTotal {
    // lmdb keeps one read transaction for a whole iteration of the event loop, which hides writes of other processes.
    if (!this.#isInTransaction) (this.#environment as unknown as ResettableReads).resetReadTxn()
    return (
      this.#changedTotal ?? totalSchema.parse(this.#environment.get(TOTAL_KEY) ?? { revision: 0, counts: NO_SLOTS })
    )
  }

  *entries({ newestFirst } = { newestFirst: false }): Iterable<WindowEntry> {
    for (const { key, value } of this.#entries.getRange({ reverse: newestFirst }))
      yield { key, counts: countsSchema.parse(value) }
  }

  get(key: string): SlotCounts | undefined {
    const counts = this.#entries.get(key)
    return counts === undefined ? undefined : countsSchema.parse(counts)
  }

  put({ key, counts }: WindowEntry): void {
    const total = this.total()
    const others = subtractCounts(total.counts, this.get(key) ?? NO_SLOTS)
    this.#changedTotal = { revision: total.revision + 1, counts: addCounts(others, counts) }
    if (hasNoSlots(counts)) this.#entries.removeSync(key)
    else this.#entries.putSync(key, counts)
  }

  close(): Promise<void> {
    return this.#environment.close()
  }

  #runTransaction<T>(work: () => T): T {
    this.#isInTransaction = true
    try {
      return runWriteSync(() =>
        this.#environment.transactionSync(() => {
          const result = work()
          if (this.#changedTotal) this.#environment.putSync(TOTAL_KEY, this.#changedTotal)
          return result
        }),
      )
    } finally {
      this.#isInTransaction = false
      this.#changedTotal = undefined
    }
  }

  /** Clears a window that is unreadable or has a wrong total: with it, every process would refuse every request. */
  #clearIfInconsistent(): void {
    try {
      const sum = [...this.entries()].reduce((counts, entry) => addCounts(counts, entry.counts), NO_SLOTS)
      if (hasNoSlots(subtractCounts(sum, this.total().counts))) return
    } catch {
      // An unreadable value is treated like a wrong total.
    }
    this.#entries.clearSync()
    this.#changedTotal = { revision: 0, counts: NO_SLOTS }
  }
}
