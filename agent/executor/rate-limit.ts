/**
 * The shared rate limit (spec 8, decisions 6): a sliding minute over all clients of all processes on one data directory.
 *
 * Free traffic must not lock payers out, nor payments that come to nothing those that don't. So a place is of a kind, and
 * each kind is measured against its own rivals. Places are taken from the shared window in one step, so that the limit
 * holds to the last place; at high limits some at a time, and what is left of them is used from memory for a moment.
 */
import { randomUUID } from 'node:crypto'
import { entryKey, entryTime } from '../../store/layout.ts'
import { MemoryWindow } from '../../store/memory-window.ts'
import { addUp, NO_PLACES, PLACE_KINDS, type PlaceKind, type Tally, type Window } from '../../store/window.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import { Distrusted } from './distrusted.ts'

const WINDOW_MS = 60_000

/**
 * What each kind enters as, and which kinds together must stay below the limit. A payment counts as paid only once it was
 * verified and something is sold for it, so that nothing free takes the places of payers. A stranger's is on trial until
 * then: of those that came to nothing, and that still may, there is no more than the limit.
 */
const RIVALS = {
  unpaid: [PLACE_KINDS],
  trial: [['paid'], ['trial', 'failed']],
  known: [['paid']],
  paid: [['paid']],
} as const satisfies Partial<Record<PlaceKind, readonly (readonly PlaceKind[])[]>>

export type Entrant = keyof typeof RIVALS

/** A lease is this share of the limit: few enough entries a minute to be walked through, few enough places to be lost. */
const LEASES_PER_LIMIT = 1_000
/** A lease's places are used within this time. All stand in the window until a minute after its end, so none is early. */
const LEASE_MS = 100

/** Entries that have left the window are dropped this many at a time, and all of them before anybody is refused. */
const DROPPED_AT_ONCE = 100

/** How long a process counts alone after a failure of the shared window. */
const ALONE_MS = 60_000

/** A request's place in the window. */
export interface Place {
  /** The payment is good and buys something, so that it counts as paid from now on; refused where those fill the minute. */
  paid(): Refused | undefined
  /** The payment has come to nothing. */
  failed(): void
  /** The request came to nothing through no fault of its own. */
  leave(): void
}

/** Places of one kind that were taken together. */
interface Lease {
  window: Window
  key: string
  from: number
  until: number
  left: number
}

interface Options {
  perMinute: number
  now: () => Date
  /** Of all processes. Without one this process counts alone. */
  window?: Window
  report?: (event: string, cause: unknown) => void
}

export class RateLimit {
  readonly distrusted: Distrusted
  readonly #perMinute: number
  readonly #leaseSize: number
  readonly #time: () => number
  readonly #shared: Window | undefined
  readonly #own = new MemoryWindow()
  readonly #report: (event: string, cause: unknown) => void
  readonly #leases = new Map<Entrant, Lease>()
  /** When there is room again, by the window's revision: finding out means walking through the entries. */
  readonly #rooms = new Map<Entrant, { window: Window; revision: number; freeAt: number }>()
  /** No two entries of any process have one key. */
  readonly #token = randomUUID().slice(0, 8)
  #taken = 0
  #aloneSince: number | undefined

  constructor({ perMinute, now, window, report = () => undefined }: Options) {
    this.#perMinute = perMinute
    this.#leaseSize = Math.max(1, Math.floor(perMinute / LEASES_PER_LIMIT))
    this.#time = () => now().getTime()
    this.#shared = window
    this.distrusted = new Distrusted(this.#time)
    this.#report = report
  }

  enter(kind: Entrant): Place | Refused {
    const shared = this.#isAlone() ? undefined : this.#shared
    if (shared) {
      try {
        return this.#enter(shared, kind)
      } catch (cause) {
        this.#countAlone(cause)
      }
    }
    return this.#enter(this.#own, kind)
  }

  #enter(window: Window, kind: Entrant): Place | Refused {
    const kept = this.#leases.get(kind)
    if (kept?.window === window && kept.left > 0 && this.#isCurrent(kept)) {
      kept.left -= 1
      return this.#place(kept, kind)
    }
    const wait = this.#wait(window, kind)
    if (wait > 0) return tooMany(wait)
    const taken = window.alone(() => this.#take(window, kind))
    this.#leases.delete(kind)
    if (typeof taken === 'number') return tooMany(taken)
    this.#leases.set(kind, taken)
    return this.#place(taken, kind)
  }

  #isCurrent({ from, until }: Lease): boolean {
    const now = this.#time()
    return from <= now && now <= until
  }

  /** What a refusal takes, and it only reads: the milliseconds until there is room, 0 when there may be some now. */
  #wait(window: Window, kind: Entrant): number {
    const { revision, tally } = window.total()
    if (this.#room(kind, tally) > 0) return 0
    const now = this.#time()
    const [newest] = window.entries({ newestFirst: true })
    if (newest && isAhead(newest.key, now)) return 0
    const room = this.#rooms.get(kind)
    if (room?.window === window && room.revision === revision) return Math.max(0, room.freeAt - now)
    const freeAt = this.#freeAt(window, kind, tally)
    this.#rooms.set(kind, { window, revision, freeAt })
    return Math.max(0, freeAt - now)
  }

  #room(kind: Entrant, tally: Tally): number {
    return this.#perMinute - Math.max(...RIVALS[kind].map((kinds) => sum(tally, kinds)))
  }

  /** When so many have left the window that there is a place. */
  #freeAt(window: Window, kind: Entrant, tally: Tally): number {
    return Math.max(
      ...RIVALS[kind].map((kinds) => {
        let surplus = sum(tally, kinds) - this.#perMinute + 1
        if (surplus <= 0) return 0
        for (const entry of window.entries()) {
          surplus -= sum(entry.tally, kinds)
          if (surplus <= 0) return entryTime(entry.key) + WINDOW_MS
        }
        throw new Error('The window of the rate limit does not add up')
      }),
    )
  }

  /** Inside `alone`. The clock is read here: nobody who was before us has read it later. Answers a lease, or the wait. */
  #take(window: Window, kind: Entrant): Lease | number {
    const now = this.#time()
    keepToTime(window, now, this.#newKey(now))
    this.#giveBack(window, kind)
    while (drop(window, now) === DROPPED_AT_ONCE && this.#room(kind, window.total().tally) <= 0);
    const { tally } = window.total()
    const size = Math.min(this.#leaseSize, this.#room(kind, tally))
    if (size <= 0) return this.#freeAt(window, kind, tally) - now
    const until = this.#leaseSize === 1 ? now : now + LEASE_MS
    const key = this.#newKey(until)
    window.put({ key, tally: { ...NO_PLACES, [kind]: size } })
    return { window, key, from: now, until, left: size - 1 }
  }

  #newKey(time: number): string {
    this.#taken += 1
    return entryKey(time, `${this.#token} ${this.#taken}`)
  }

  /** What the last lease did not use. A process that dies first leaves it for a minute. */
  #giveBack(window: Window, kind: Entrant): void {
    const lease = this.#leases.get(kind)
    if (lease?.window === window && lease.left > 0) change(lease, { [kind]: -lease.left })
  }

  #place(lease: Lease, kind: Entrant): Place {
    let held: PlaceKind | undefined = kind
    let later: Place | undefined
    const move = (next: PlaceKind | undefined) => {
      if (held === undefined || held === next) return
      const difference = { [held]: -1, ...(next && { [next]: 1 }) }
      held = next
      try {
        lease.window.alone(() => change(lease, difference))
      } catch (cause) {
        this.#countAlone(cause)
      }
    }
    const leave = () => {
      const isShort = this.#leaseSize > 1 && this.#leases.get(kind) === lease && this.#isCurrent(lease)
      if (held !== kind || !isShort) return move(undefined)
      held = undefined
      lease.left += 1
    }
    return {
      paid: () => {
        const place = this.enter('paid')
        if ('kind' in place) return place
        leave()
        later = place
        return undefined
      },
      failed: () => move(kind === 'trial' ? 'failed' : 'unpaid'),
      leave: () => (later ? later.leave() : leave()),
    }
  }

  /** The limit then holds in each process: money does not hang on it, and a service that refuses everybody is worse. */
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

function sum(tally: Tally, kinds: readonly PlaceKind[]): number {
  return kinds.reduce((total, kind) => total + tally[kind], 0)
}

/** Whether a place is from a time that is yet to come: the clock was put back. */
function isAhead(key: string, now: number): boolean {
  return entryTime(key) > now + LEASE_MS
}

/**
 * What is ahead of the clock is taken to have come just now. So nobody is let in too early, and all wait a minute at most.
 * Its places can't be changed any more.
 */
function keepToTime(window: Window, now: number, key: string): void {
  const ahead = []
  for (const entry of window.entries({ newestFirst: true })) {
    if (!isAhead(entry.key, now)) break
    ahead.push(entry)
  }
  if (ahead.length === 0) return
  for (const entry of ahead) window.put({ key: entry.key, tally: NO_PLACES })
  window.put({ key, tally: ahead.reduce((tally, entry) => addUp(tally, entry.tally), NO_PLACES) })
}

/** Drops what has left the window, and says how many entries it was. */
function drop(window: Window, now: number): number {
  const gone = []
  for (const { key } of window.entries()) {
    if (entryTime(key) > now - WINDOW_MS || gone.length === DROPPED_AT_ONCE) break
    gone.push(key)
  }
  for (const key of gone) window.put({ key, tally: NO_PLACES })
  return gone.length
}

/** Inside `alone`. Nothing to change where the entry has left the window. */
function change({ window, key }: Lease, difference: Partial<Tally>): void {
  const found = window.find(key)
  if (found) window.put({ key, tally: addUp(found, { ...NO_PLACES, ...difference }) })
}

function tooMany(waitMs: number): Refused {
  return refused({ code: 'rate_limited', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}
