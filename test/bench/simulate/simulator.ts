/**
 * Clock, randomness and event queue of the simulation. All of it depends on one seed: nothing reads the real clock or
 * another source of randomness, so a seed replays a run exactly.
 */
import { randomFor, type Random } from '../../support/random.ts'

/** The process that an event belongs to. The events of a crashed process are dropped. */
export interface Owner {
  name: string
  alive: boolean
}

interface Event {
  time: number
  /** Random order of events with the same time. */
  order: number
  owner: Owner | undefined
  run: () => void
  /** Whether the event settles no promise. */
  needsNoFlush: boolean
  cancelled: boolean
}

/** 2026-11-21, in milliseconds: the start of every run. */
const START_MS = 1_795_219_200_000

export class Simulator {
  /** Milliseconds. */
  now = START_MS
  /** Whether faults are still injected. */
  injectsFaults = true
  /** How often each fault, state and response was seen, over all runs. */
  readonly seen: Map<string, number>
  readonly lines: string[] = []
  /** Called after every step. */
  check: () => void = () => undefined
  steps = 0
  /** The owner of the last step. */
  last: Owner | undefined
  readonly #isTraced: boolean
  /** The latest event first, so that `pop` takes the next one. */
  readonly #queue: Event[] = []
  readonly random: Random

  constructor({ seed, seen, isTraced }: { seed: number; seen: Map<string, number>; isTraced: boolean }) {
    this.seen = seen
    this.#isTraced = isTraced
    this.random = randomFor(seed, 0, 0)
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1))
  }

  chance(share: number): boolean {
    return this.random() < share
  }

  /** Decides whether a fault happens, and counts it. */
  fault(name: string, share: number): boolean {
    if (!this.injectsFaults || this.random() >= share) return false
    this.count(`fault ${name}`)
    return true
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)] as T
  }

  count(name: string): void {
    this.seen.set(name, (this.seen.get(name) ?? 0) + 1)
  }

  trace(source: string, describe: () => string): void {
    if (this.#isTraced)
      this.lines.push(`${((this.now - START_MS) / 1000).toFixed(3).padStart(9)} s  ${source.padEnd(11)} ${describe()}`)
  }

  /** Schedules `run`, unless its owner crashes or it is cancelled first. */
  after(milliseconds: number, run: () => void, owner?: Owner): () => void {
    const event = this.#schedule(milliseconds, run, owner)
    return () => {
      event.cancelled = true
    }
  }

  /** Schedules `run`, which settles no promise. The queue then goes on without waiting for microtasks. */
  afterNoFlush(milliseconds: number, run: () => void, owner?: Owner): void {
    this.#schedule(milliseconds, run, owner).needsNoFlush = true
  }

  #schedule(milliseconds: number, run: () => void, owner: Owner | undefined): Event {
    const time = this.now + milliseconds
    const event = { time, order: this.random(), owner, run, needsNoFlush: false, cancelled: false }
    let [from, to] = [0, this.#queue.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (isBefore(event, this.#queue[middle] as Event)) from = middle + 1
      else to = middle
    }
    this.#queue.splice(from, 0, event)
    return event
  }

  /** Runs events in order until `until` returns true or the time has passed. */
  async run(milliseconds: number, until: () => boolean = () => false): Promise<void> {
    const end = this.now + milliseconds
    // Waits for work that began between two runs. `settled` works only in a microtask, which the caller need not be.
    await Promise.resolve()
    await settled()
    for (let next = this.#queue.at(-1); next && next.time <= end; next = this.#queue.at(-1)) {
      this.#queue.pop()
      if (next.cancelled || next.owner?.alive === false) continue
      this.now = next.time
      this.steps += 1
      this.last = next.owner
      next.run()
      if (!next.needsNoFlush) await settled()
      this.check()
      if (until()) return
    }
    this.now = end
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.time < other.time || (one.time === other.time && one.order < other.order)
}

/** Resolves when no microtask is left: Node.js runs `nextTick` callbacks only then. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}
