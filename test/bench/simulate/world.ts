/**
 * The simulation's clock, chance and order of events: one integer decides all of it. Nothing here reads a real clock,
 * waits, or draws from another source, so that a seed replays a run to the last step.
 */

/** Whoever waits for an event; a crash ends it, and what it waits for is never told to it. */
export interface Owner {
  name: string
  alive: boolean
}

interface Event {
  time: number
  /** Decides between events of one time. */
  order: number
  owner: Owner | undefined
  run: () => void
  /** Whether nobody who waits can go on by it. */
  isQuiet: boolean
  cancelled: boolean
}

/** 2026-11-21, in milliseconds: where every run begins. */
const START_MS = 1_795_219_200_000

export class World {
  /** Milliseconds. */
  now = START_MS
  /** Whether faults may still happen. */
  isStormy = true
  /** How many times each fault, state and answer was seen, over all runs. */
  readonly seen: Map<string, number>
  readonly lines: string[] = []
  /** Run after every step. */
  check: () => void = () => undefined
  steps = 0
  /** Whose step was the last. */
  last: Owner | undefined
  readonly #isTraced: boolean
  readonly #queue: Event[] = []
  #state: number

  constructor({ seed, seen, isTraced }: { seed: number; seen: Map<string, number>; isTraced: boolean }) {
    this.seen = seen
    this.#isTraced = isTraced
    this.#state = Math.imul(seed ^ 0x9e37_79b9, 0x85eb_ca6b) ^ seed
  }

  /** From 0 to below 1 (mulberry32). */
  random = (): number => {
    this.#state = (this.#state + 0x6d2b_79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1))
  }

  chance(share: number): boolean {
    return this.random() < share
  }

  /** A fault that happens in so many cases, and only while the world is stormy. Counted. */
  fault(name: string, share: number): boolean {
    if (!this.isStormy || this.random() >= share) return false
    this.count(`fault ${name}`)
    return true
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)] as T
  }

  count(name: string): void {
    this.seen.set(name, (this.seen.get(name) ?? 0) + 1)
  }

  trace(who: string, what: () => string): void {
    if (this.#isTraced)
      this.lines.push(`${((this.now - START_MS) / 1000).toFixed(3).padStart(9)} s  ${who.padEnd(11)} ${what()}`)
  }

  /** Runs `run` after so many milliseconds, unless its owner has died by then or it is cancelled. */
  after(milliseconds: number, run: () => void, owner?: Owner): () => void {
    const event = this.#plan(milliseconds, run, owner)
    return () => {
      event.cancelled = true
    }
  }

  /** The same of what ends nobody's wait and only plans other events, so that no promise has to be waited for. */
  quietlyAfter(milliseconds: number, run: () => void, owner?: Owner): void {
    this.#plan(milliseconds, run, owner).isQuiet = true
  }

  /** Time passes in which nothing happens: all that is pending comes so much later. */
  sleep(milliseconds: number): void {
    this.now += milliseconds
    for (const event of this.#queue) event.time += milliseconds
  }

  #plan(milliseconds: number, run: () => void, owner: Owner | undefined): Event {
    const time = this.now + milliseconds
    const event = { time, order: this.random(), owner, run, isQuiet: false, cancelled: false }
    this.#push(event)
    return event
  }

  /** Runs events in their order until `until` says so, or `milliseconds` have passed. */
  async run(milliseconds: number, until: () => boolean = () => false): Promise<void> {
    const end = this.now + milliseconds
    // What was begun between two runs goes on with the first step.
    let isPending = true
    for (let next = this.#queue[0]; next && next.time <= end; next = this.#queue[0]) {
      this.#pop()
      if (next.cancelled || next.owner?.alive === false) continue
      this.now = next.time
      this.steps += 1
      this.last = next.owner
      next.run()
      if (isPending || !next.isQuiet) await settled()
      isPending = false
      this.check()
      if (until()) return
    }
    this.now = end
  }

  #push(event: Event): void {
    const queue = this.#queue
    let at = queue.length
    queue.push(event)
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = queue[parent] as Event
      if (!isBefore(event, above)) break
      queue[at] = above
      at = parent
    }
    queue[at] = event
  }

  #pop(): void {
    const queue = this.#queue
    const last = queue.pop()
    if (queue.length === 0 || !last) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= queue.length) break
      if (child + 1 < queue.length && isBefore(queue[child + 1] as Event, queue[child] as Event)) child += 1
      if (!isBefore(queue[child] as Event, last)) break
      queue[at] = queue[child] as Event
      at = child
    }
    queue[at] = last
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.time < other.time || (one.time === other.time && one.order < other.order)
}

/** Until every promise that can go on has gone on: Node runs ticks only when no promise is left to run. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}
