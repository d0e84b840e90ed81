/**
 * The slots of the rate limit in a sliding window that the processes of a data directory share. Each kind of slot is limited
 * by the sum of certain kinds only, so failing payments cannot block known payers.
 */
import { randomUUID } from 'node:crypto'
import { windowEntryKey, windowEntryTime } from './layout.ts'
import { MemoryWindow } from './memory-window.ts'
import type { Report } from './runtime.ts'
import {
  LEASES_PER_LIMIT,
  LIMITED_GROUPS,
  WINDOW_MS,
  type AdmissionKind,
  type NoSlot,
  type SlotKind,
  type Slots,
  type TakenSlot,
} from './slots.ts'
import { addCounts, NO_SLOTS, type SlidingWindow, type SlotCounts } from './window.ts'

/** The slots of a lease are used within this time. They count until a minute after its end, so none expires early. */
const LEASE_MS = 100

/** Expired entries are removed in batches of this size, and all of them before a request is refused. */
const REMOVED_AT_ONCE = 100

/** After a failure of the shared window, a process counts in its own memory for this long. */
const ALONE_MS = 60_000

/** Slots of one kind that were taken together. */
interface Lease {
  kind: 'lease'
  window: SlidingWindow
  key: string
  from: number
  until: number
  left: number
}

interface WindowSlotsOptions {
  perMinute: number
  now: () => Date
  /** Shared by all processes. Without it, this process counts in its own memory. */
  window?: SlidingWindow
  report?: Report
}

export class WindowSlots implements Slots {
  readonly #perMinute: number
  /** Without leases, the benchmark row `paid lookup` is more than 10 % slower. A crash loses at most the slots of a lease. */
  readonly #leaseSize: number
  readonly #time: () => number
  readonly #shared: SlidingWindow | undefined
  readonly #own = new MemoryWindow()
  readonly #report: Report
  readonly #leases = new Map<AdmissionKind, Lease>()
  /** Caches when a slot becomes free, for one revision of the window. Computing it reads all entries. */
  readonly #freeTimes = new Map<AdmissionKind, { window: SlidingWindow; revision: number; freeAt: number }>()
  /** Makes the entry keys of this process unique. */
  readonly #token = randomUUID().slice(0, 8)
  #keysMade = 0
  #aloneSince: number | undefined

  constructor({ perMinute, now, window, report = () => undefined }: WindowSlotsOptions) {
    this.#perMinute = perMinute
    this.#leaseSize = Math.max(1, Math.floor(perMinute / LEASES_PER_LIMIT))
    this.#time = () => now().getTime()
    this.#shared = window
    this.#report = report
  }

  async take(kind: AdmissionKind): Promise<TakenSlot | NoSlot> {
    const shared = this.#isAlone() ? undefined : this.#shared
    if (shared) {
      try {
        return this.#take(shared, kind)
      } catch (cause) {
        this.#countAlone(cause)
      }
    }
    return this.#take(this.#own, kind)
  }

  async counts(): Promise<SlotCounts> {
    return (this.#shared ?? this.#own).total().counts
  }

  async close(): Promise<void> {
    await this.#shared?.close()
  }

  #take(window: SlidingWindow, kind: AdmissionKind): TakenSlot | NoSlot {
    const kept = this.#leases.get(kind)
    if (kept?.window === window && kept.left > 0 && this.#isCurrent(kept)) {
      kept.left -= 1
      return this.#openSlot(kept, kind)
    }
    const waitMs = this.#waitMs(window, kind)
    if (waitMs > 0) return { kind: 'full', waitMs }
    const taken = window.transaction(() => this.#takeLease(window, kind))
    this.#leases.delete(kind)
    if (taken.kind === 'full') return taken
    this.#leases.set(kind, taken)
    return this.#openSlot(taken, kind)
  }

  #isCurrent({ from, until }: Lease): boolean {
    const now = this.#time()
    return from <= now && now <= until
  }

  /** Milliseconds until a slot is free, 0 when one may be free now. Reads only, so refusing is cheap. */
  #waitMs(window: SlidingWindow, kind: AdmissionKind): number {
    const { revision, counts } = window.total()
    if (this.#freeSlots(kind, counts) > 0) return 0
    const now = this.#time()
    const [newest] = window.entries({ newestFirst: true })
    if (newest && isAhead(newest.key, now)) return 0
    const known = this.#freeTimes.get(kind)
    if (known?.window === window && known.revision === revision) return Math.max(0, known.freeAt - now)
    const freeAt = this.#freeAt(window, kind, counts)
    this.#freeTimes.set(kind, { window, revision, freeAt })
    return Math.max(0, freeAt - now)
  }

  #freeSlots(kind: AdmissionKind, counts: SlotCounts): number {
    return this.#perMinute - Math.max(...LIMITED_GROUPS[kind].map((kinds) => sum(counts, kinds)))
  }

  /** The time at which enough entries have expired for a slot to be free. */
  #freeAt(window: SlidingWindow, kind: AdmissionKind, counts: SlotCounts): number {
    return Math.max(
      ...LIMITED_GROUPS[kind].map((kinds) => {
        let surplus = sum(counts, kinds) - this.#perMinute + 1
        if (surplus <= 0) return 0
        for (const entry of window.entries()) {
          surplus -= sum(entry.counts, kinds)
          if (surplus <= 0) return windowEntryTime(entry.key) + WINDOW_MS
        }
        throw new Error('The total of the rate-limit window does not match its entries')
      }),
    )
  }

  /** Runs inside a transaction, so processes read the clock one after the other. */
  #takeLease(window: SlidingWindow, kind: AdmissionKind): Lease | NoSlot {
    const now = this.#time()
    moveAheadEntries(window, now, this.#newKey(now))
    this.#returnLease(window, kind)
    while (removeExpired(window, now) === REMOVED_AT_ONCE && this.#freeSlots(kind, window.total().counts) <= 0);
    const { counts } = window.total()
    const size = Math.min(this.#leaseSize, this.#freeSlots(kind, counts))
    if (size <= 0) return { kind: 'full', waitMs: this.#freeAt(window, kind, counts) - now }
    const until = this.#leaseSize === 1 ? now : now + LEASE_MS
    const key = this.#newKey(until)
    window.put({ key, counts: { ...NO_SLOTS, [kind]: size } })
    return { kind: 'lease', window, key, from: now, until, left: size - 1 }
  }

  #newKey(time: number): string {
    this.#keysMade += 1
    return windowEntryKey(time, `${this.#token} ${this.#keysMade}`)
  }

  /** Gives the unused slots of the last lease back to the window. After a crash they count for a minute. */
  #returnLease(window: SlidingWindow, kind: AdmissionKind): void {
    const lease = this.#leases.get(kind)
    if (lease?.window === window && lease.left > 0) change(lease, { [kind]: -lease.left })
  }

  #openSlot(lease: Lease, kind: AdmissionKind): TakenSlot {
    let counted: SlotKind | undefined = kind
    const recount = (next: SlotKind | undefined) => {
      if (counted === undefined || counted === next) return
      const difference = { [counted]: -1, ...(next && { [next]: 1 }) }
      counted = next
      try {
        lease.window.transaction(() => change(lease, difference))
      } catch (cause) {
        this.#countAlone(cause)
      }
    }
    return {
      kind: 'taken',
      release: () => {
        const isReusable = this.#leaseSize > 1 && this.#leases.get(kind) === lease && this.#isCurrent(lease)
        if (counted !== kind || !isReusable) return recount(undefined)
        counted = undefined
        lease.left += 1
      },
      markFailed: () => recount(kind === 'trial' ? 'failed' : undefined),
    }
  }

  /** Until the shared window is used again, the limit holds for each process. No request is refused because of the failure. */
  #countAlone(cause: unknown): void {
    this.#aloneSince = this.#time()
    this.#report('rate_limit_alone', cause)
  }

  #isAlone(): boolean {
    if (this.#aloneSince === undefined) return false
    const elapsed = this.#time() - this.#aloneSince
    return elapsed >= 0 && elapsed < ALONE_MS
  }
}

function sum(counts: SlotCounts, kinds: readonly SlotKind[]): number {
  return kinds.reduce((total, kind) => total + counts[kind], 0)
}

/** Whether an entry has a time in the future, which happens when the clock is set back. */
function isAhead(key: string, now: number): boolean {
  return windowEntryTime(key) > now + LEASE_MS
}

/** Treats entries from the future as taken now. Nothing expires early, and every wait is a minute at most. */
function moveAheadEntries(window: SlidingWindow, now: number, key: string): void {
  const ahead = []
  for (const entry of window.entries({ newestFirst: true })) {
    if (!isAhead(entry.key, now)) break
    ahead.push(entry)
  }
  if (ahead.length === 0) return
  for (const entry of ahead) window.put({ key: entry.key, counts: NO_SLOTS })
  window.put({ key, counts: ahead.reduce((counts, entry) => addCounts(counts, entry.counts), NO_SLOTS) })
}

/** Removes at most {@link REMOVED_AT_ONCE} expired entries and returns how many it removed. */
function removeExpired(window: SlidingWindow, now: number): number {
  const expired = []
  for (const { key } of window.entries()) {
    if (windowEntryTime(key) > now - WINDOW_MS || expired.length === REMOVED_AT_ONCE) break
    expired.push(key)
  }
  for (const key of expired) window.put({ key, counts: NO_SLOTS })
  return expired.length
}

/** Runs inside a transaction. Changes nothing when the entry has expired. */
function change({ window, key }: Lease, difference: Partial<SlotCounts>): void {
  const found = window.get(key)
  if (found) window.put({ key, counts: addCounts(found, { ...NO_SLOTS, ...difference }) })
}
