/** The shared rate limit: at, below and above it, as the minute slides, and who is measured against whom. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { RateLimit, type Entrant, type Place } from '../../../agent/executor/rate-limit.ts'
import type { Refused } from '../../../agent/operation/outcome.ts'
import { MemoryWindow } from '../../../store/memory-window.ts'
import { NO_PLACES, openWindow, type PlaceKind, type Window } from '../../../store/window.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const MINUTE = 60_000

/** How the tests below find their window: in memory, or on disk between two that take turns, as two processes would. */
const SETUPS: Record<string, (directory: string) => Window[]> = {
  'of one process': () => [new MemoryWindow()],
  'of two on one store': (directory) => [openWindow(directory), openWindow(directory)],
}

/** A limit with a clock that a test moves. */
class Door {
  at = START
  readonly limits: RateLimit[]
  readonly reports: string[] = []

  constructor(perMinute: number, windows: Window[]) {
    const report = (event: string) => void this.reports.push(event)
    this.limits = windows.map((window) => new RateLimit({ perMinute, now: () => new Date(this.at), window, report }))
  }

  enter(kind: Entrant): Place | Refused {
    const [next] = this.limits
    if (!next) throw new Error('There is no limit')
    this.limits.push(...this.limits.splice(0, 1))
    return next.enter(kind)
  }

  /** Enters and must be let in. */
  place(kind: Entrant): Place {
    const place = this.enter(kind)
    if ('kind' in place) throw new Error('The limit is reached')
    return place
  }

  /** The seconds to wait, or 0 when there is a place, which is given back. */
  wait(kind: Entrant): number {
    const place = this.enter(kind)
    if ('kind' in place) {
      expect(place.refusal.code).to.equal('rate_limited')
      return place.refusal.retryAfterSeconds ?? Number.NaN
    }
    place.leave()
    return 0
  }

  fill(kind: Entrant, count: number): Place[] {
    return Array.from({ length: count }, () => this.place(kind))
  }

  /** How many are let in until one is refused. */
  count(kind: Entrant): number {
    for (let count = 0; ; count += 1) if ('kind' in this.enter(kind)) return count
  }
}

for (const [setup, openWindows] of Object.entries(SETUPS)) {
  describe(`the rate limit ${setup}`, () => {
    const opened: Window[] = []
    const directories: string[] = []

    function openDoor(perMinute: number): Door {
      const directory = mkdtempSync(join(tmpdir(), 'limits-'))
      const windows = openWindows(directory)
      directories.push(directory)
      opened.push(...windows)
      return new Door(perMinute, windows)
    }
    afterEach(async () => {
      for (const window of opened.splice(0)) await window.close()
      for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
    })

    for (const kind of ['unpaid', 'trial', 'paid'] as const) {
      describe(`of ${kind} requests`, () => {
        for (const perMinute of [1, 3, 120]) {
          it(`lets in ${perMinute} a minute and refuses the next`, () => {
            const door = openDoor(perMinute)
            door.fill(kind, perMinute - 1)
            expect(door.wait(kind)).to.equal(0)
            door.place(kind)
            expect(door.wait(kind)).to.equal(60)
            expect(door.wait(kind)).to.equal(60)
          })
        }

        it('does not count what it refused', () => {
          const door = openDoor(2)
          door.fill(kind, 2)
          for (let attempt = 0; attempt < 10; attempt += 1) door.enter(kind)
          door.at += MINUTE
          door.fill(kind, 2)
          expect(door.wait(kind)).to.equal(60)
        })

        it('slides: each place is free a minute after it was taken, and not before', () => {
          const door = openDoor(3)
          for (const at of [0, 10_000, 30_000]) {
            door.at = START + at
            door.place(kind)
          }
          const waits: [at: number, seconds: number][] = [
            [30_000, 30],
            [59_000, 1],
            [59_999, 1],
            [60_000, 0],
          ]
          for (const [at, seconds] of waits) {
            door.at = START + at
            expect(door.wait(kind), String(at)).to.equal(seconds)
          }
          door.place(kind)
          expect(door.wait(kind)).to.equal(10)
          door.at = START + 69_999
          expect(door.wait(kind)).to.equal(1)
          door.at = START + 70_000
          expect(door.wait(kind)).to.equal(0)
        })

        it('tells the wait in whole seconds, never too short and at least 1', () => {
          const waits: [elapsed: number, seconds: number][] = [
            [0, 60],
            [1, 60],
            [999, 60],
            [1000, 59],
            [1001, 59],
            [58_999, 2],
            [59_000, 1],
            [59_999, 1],
          ]
          for (const [elapsed, seconds] of waits) {
            const door = openDoor(1)
            door.place(kind)
            door.at += elapsed
            expect(door.wait(kind), String(elapsed)).to.equal(seconds)
            door.at += seconds * 1000
            expect(door.wait(kind), `after ${elapsed}`).to.equal(0)
          }
        })

        it('holds when the clock jumps back, and locks nobody out for longer than a minute', () => {
          for (const jump of [200, 30_000, 3_600_000]) {
            const door = openDoor(2)
            door.place(kind)
            door.at += 20_000
            door.place(kind)
            door.at -= jump
            expect(door.wait(kind), String(jump)).to.be.within(1, 60)
            door.at += MINUTE
            door.fill(kind, 2)
            expect(door.wait(kind), `a minute after ${jump}`).to.equal(60)
          }
        })

        it('forgets everything when the clock jumps ahead', () => {
          const door = openDoor(2)
          door.fill(kind, 2)
          door.at += 86_400_000
          expect(door.wait(kind)).to.equal(0)
        })
      })
    }

    it('measures each kind against its own rivals', () => {
      const rows: (Partial<Record<PlaceKind, number>> & { next: Entrant; free: boolean })[] = [
        { unpaid: 119, next: 'unpaid', free: true },
        { unpaid: 120, next: 'unpaid', free: false },
        { unpaid: 120, next: 'trial', free: true },
        { unpaid: 120, next: 'paid', free: true },
        { unpaid: 60, paid: 59, next: 'unpaid', free: true },
        { unpaid: 60, paid: 60, next: 'unpaid', free: false },
        { unpaid: 60, trial: 60, next: 'unpaid', free: false },
        { unpaid: 60, failed: 60, next: 'unpaid', free: false },
        { unpaid: 60, paid: 60, next: 'paid', free: true },
        { paid: 119, next: 'paid', free: true },
        { paid: 120, next: 'paid', free: false },
        { paid: 120, next: 'trial', free: false },
        { paid: 120, next: 'unpaid', free: false },
        { trial: 60, paid: 60, next: 'paid', free: true },
        { trial: 120, next: 'paid', free: true },
        { trial: 120, next: 'known', free: true },
        { trial: 120, next: 'trial', free: false },
        { trial: 119, paid: 119, next: 'trial', free: true },
        { known: 120, next: 'trial', free: true },
        { known: 120, next: 'known', free: true },
        { known: 120, next: 'paid', free: true },
        { known: 120, next: 'unpaid', free: false },
        { paid: 120, next: 'known', free: false },
        { failed: 120, next: 'known', free: true },
        { unpaid: 120, paid: 119, next: 'paid', free: true },
        { unpaid: 120, paid: 120, next: 'paid', free: false },
        { failed: 119, next: 'trial', free: true },
        { failed: 120, next: 'trial', free: false },
        { failed: 120, next: 'paid', free: true },
        { failed: 60, trial: 60, next: 'trial', free: false },
        { failed: 60, paid: 119, next: 'trial', free: true },
      ]
      for (const row of rows) {
        const door = openDoor(120)
        // In this order there is room for each.
        for (const place of door.fill('trial', row.failed ?? 0)) place.failed()
        door.fill('unpaid', row.unpaid ?? 0)
        door.fill('paid', row.paid ?? 0)
        door.fill('trial', row.trial ?? 0)
        door.fill('known', row.known ?? 0)
        expect(door.wait(row.next) === 0, JSON.stringify(row)).to.equal(row.free)
      }
    })

    it('counts a stranger who has paid among those, and no longer as one who may fail', () => {
      const door = openDoor(2)
      door.place('trial').failed()
      expect(door.place('trial').paid()).to.equal(undefined)
      expect(door.wait('trial')).to.equal(0)
      door.place('paid')
      expect(door.wait('paid')).to.equal(60)
    })

    it('lets nobody pay beyond the limit, however many were let in to be verified', () => {
      for (const kind of ['trial', 'known'] as const) {
        const door = openDoor(2)
        const [first, second] = door.fill(kind, 2) as [Place, Place]
        door.place('paid')
        expect(first.paid()).to.equal(undefined)
        expect(second.paid()).to.have.nested.property('refusal.retryAfterSeconds', 60)
        second.leave()
        first.leave()
        expect(door.wait('paid')).to.equal(0)
        expect(door.wait('unpaid')).to.equal(0)
      }
    })

    it('counts the failure of a known payer as a free request', () => {
      const door = openDoor(2)
      for (let failure = 0; failure < 5; failure += 1) door.place('known').failed()
      expect(door.wait('unpaid')).to.equal(60)
      for (const kind of ['trial', 'known', 'paid'] as const) expect(door.wait(kind), kind).to.equal(0)
    })

    it('refuses strangers once so many payments have failed, tells them how long, and lets payers in', () => {
      const door = openDoor(3)
      for (let second = 0; second < 3; second += 1) {
        door.at = START + second * 1000
        door.place('trial').failed()
      }
      expect(door.wait('trial')).to.equal(58)
      expect(door.wait('paid')).to.equal(0)
      door.at = START + 59_999
      expect(door.wait('trial')).to.equal(1)
      door.at = START + MINUTE
      expect(door.wait('trial')).to.equal(0)
    })

    it('tells when there is a place, though failed payments stand in more of them than there are', () => {
      const door = openDoor(2)
      for (let second = 0; second < 10; second += 1) {
        door.at = START + second * 1000
        door.place('known').failed()
      }
      // Of ten, eight must go before there is a place: the ninth-last is from second 8.
      expect(door.wait('unpaid')).to.equal(59)
      door.at = START + 8_000 + MINUTE
      expect(door.wait('unpaid')).to.equal(0)
    })

    it('gives the place back of a request that came to nothing', () => {
      const door = openDoor(1)
      door.place('paid').leave()
      door.place('unpaid').leave()
      door.place('unpaid')
      expect(door.wait('unpaid')).to.equal(60)
    })

    it('is what counting every place says', () => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), (perMinute, steps) => {
          const door = openDoor(perMinute)
          const model = new Model(perMinute)
          const places: { place: Place; counted: Counted }[] = []
          for (const { kind, wait, end, of } of steps) {
            door.at += wait
            const expected = model.wait(kind, door.at)
            const place = door.enter(kind)
            if ('kind' in place) {
              expect(place.refusal.retryAfterSeconds).to.equal(Math.max(1, Math.ceil(expected / 1000)))
              expect(expected).to.be.greaterThan(0)
            } else {
              expect(expected).to.equal(0)
              places.push({ place, counted: model.enter(kind, door.at) })
            }
            const ended = end === 'none' ? undefined : places.splice(of % (places.length || 1), 1)[0]
            if (!ended || end === 'none') continue
            const left = ended.place[end]()
            expect(left !== undefined).to.equal(model.end(ended.counted, end, door.at))
          }
          expect(door.reports).to.deep.equal([])
        }),
        { numRuns: 60 },
      )
    })
  })
}

/** One request: after how long, of which kind, and what then becomes of which earlier one. */
const step = fc.record({
  kind: fc.constantFrom<Entrant>('unpaid', 'trial', 'known'),
  wait: fc.oneof(fc.constantFrom(0, 1, 29_999, 59_999, MINUTE), fc.integer({ min: 0, max: 20_000 })),
  end: fc.constantFrom('none', 'paid', 'failed', 'leave'),
  of: fc.nat(10),
})

interface Counted {
  at: number
  kind: PlaceKind
}

/** The rule, told once more and slowly. */
class Model {
  readonly #perMinute: number
  #all: Counted[] = []

  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  wait(kind: Entrant, now: number): number {
    const times = (...kinds: PlaceKind[]) =>
      this.#all.filter((each) => kinds.includes(each.kind) && each.at > now - MINUTE).map(({ at }) => at)
    const measured = {
      unpaid: [times('unpaid', 'trial', 'known', 'paid', 'failed')],
      trial: [times('paid'), times('trial', 'failed')],
      known: [times('paid')],
      paid: [times('paid')],
    }
    return Math.max(
      ...measured[kind].map((list) => {
        const last = list.toSorted((one, other) => other - one)[this.#perMinute - 1]
        return last === undefined ? 0 : last + MINUTE - now
      }),
    )
  }

  enter(kind: PlaceKind, at: number): Counted {
    const counted = { at, kind }
    this.#all.push(counted)
    return counted
  }

  /** Whether it is refused. */
  end(counted: Counted, end: 'paid' | 'failed' | 'leave', now: number): boolean {
    if (end === 'paid' && this.wait('paid', now) > 0) return true
    if (end === 'failed') counted.kind = counted.kind === 'trial' ? 'failed' : 'unpaid'
    else this.#all = this.#all.filter((each) => each !== counted)
    if (end === 'paid') this.enter('paid', now)
    return false
  }
}

/** At a limit of 5000 a process takes five places at a time. */
describe('places that are taken some at a time', () => {
  const PER_MINUTE = 5_000
  const LEASE = 5

  /** Three processes on one window, each with a clock reading of the same clock. */
  function open(count: number) {
    const window = new MemoryWindow()
    const doors = Array.from({ length: count }, () => new Door(PER_MINUTE, [window]))
    return { window, doors, goOn: (time: number) => doors.forEach((door) => (door.at += time)) }
  }

  it('cost the window one step for all of them', () => {
    const { window, doors } = open(1)
    doors[0]?.fill('unpaid', LEASE)
    expect(window.total()).to.deep.include({ revision: 1 })
    doors[0]?.place('unpaid')
    expect(window.total()).to.deep.include({ revision: 2 })
  })

  it('never make more than the limit in any minute, whoever takes them and whenever', () => {
    const burst = fc.record({
      by: fc.nat(2),
      count: fc.integer({ min: 1, max: 3_000 }),
      wait: fc.constantFrom(0, 1, 50, 99, 100, 101, 5_000, 59_899, 59_900, 59_999),
    })
    fc.assert(
      fc.property(fc.array(burst, { minLength: 5, maxLength: 25 }), (bursts) => {
        const { doors, goOn } = open(3)
        const taken: { at: number; count: number }[] = []
        for (const { by, count, wait } of bursts) {
          goOn(wait)
          const door = doors[by] as Door
          let entered = 0
          while (entered < count && !('kind' in door.enter('unpaid'))) entered += 1
          taken.push({ at: door.at, count: entered })
          const within = taken.filter(({ at }) => at > door.at - MINUTE)
          expect(within.reduce((sum, each) => sum + each.count, 0)).to.be.at.most(PER_MINUTE)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('go back when they were not used, at the next step of their process', () => {
    const { window, doors, goOn } = open(1)
    const [door] = doors as [Door]
    for (let each = 0; each < 10; each += 1) {
      door.place('unpaid')
      goOn(101)
    }
    expect(window.total().tally.unpaid).to.equal(9 + LEASE)
  })

  it('are lost for a minute with the process that took them, and then free again', () => {
    const { doors, goOn } = open(2)
    const [dead, alive] = doors as [Door, Door]
    dead.place('unpaid')
    expect(alive.count('unpaid')).to.equal(PER_MINUTE - LEASE)
    goOn(MINUTE + 100)
    expect(alive.count('unpaid')).to.equal(PER_MINUTE)
  })

  it('are used by others of the same process when a request leaves', () => {
    const { window, doors } = open(1)
    const [door] = doors as [Door]
    for (let each = 0; each < 100; each += 1) door.place('unpaid').leave()
    expect(window.total()).to.deep.include({ revision: 1 })
  })

  it('are not used after their moment, nor before it', () => {
    for (const jump of [101, -1]) {
      const { window, doors, goOn } = open(1)
      const [door] = doors as [Door]
      door.place('unpaid')
      goOn(jump)
      door.place('unpaid')
      expect(window.total().revision, String(jump)).to.be.greaterThan(1)
    }
  })

  it('stay in the window until a minute after the last could have been used', () => {
    const { doors, goOn } = open(2)
    const [one, other] = doors as [Door, Door]
    one.fill('unpaid', PER_MINUTE - 1)
    goOn(100)
    one.place('unpaid')
    goOn(MINUTE - 1)
    expect(other.wait('unpaid')).to.equal(1)
    goOn(1)
    expect(other.count('unpaid')).to.equal(PER_MINUTE)
  })
})

describe('a shared window that fails', () => {
  const failing: Window = {
    alone: () => {
      throw new Error('EIO')
    },
    total: () => ({ revision: 0, tally: NO_PLACES }),
    entries: () => [],
    find: () => undefined,
    put: () => undefined,
    close: () => Promise.resolve(),
  }

  it('is done without for a minute: the process counts alone, and says so once', () => {
    const door = new Door(3, [failing])
    door.fill('unpaid', 3)
    expect(door.wait('unpaid')).to.equal(60)
    expect(door.reports).to.deep.equal(['rate_limit_alone'])
    door.at += MINUTE
    door.fill('unpaid', 3)
    expect(door.reports).to.deep.equal(['rate_limit_alone', 'rate_limit_alone'])
  })

  it('is used again when it works again', () => {
    const window = new MemoryWindow()
    let isBroken = true
    const door = new Door(3, [{ ...methodsOf(window), alone: (work) => (isBroken ? failing : window).alone(work) }])
    door.fill('unpaid', 3)
    isBroken = false
    expect(window.total().tally).to.deep.equal(NO_PLACES)
    door.at += MINUTE
    door.fill('unpaid', 3)
    expect(window.total().tally.unpaid).to.equal(3)
  })

  it('stops nobody whose place it can no longer change', () => {
    const window = new MemoryWindow()
    let isBroken = false
    const door = new Door(3, [{ ...methodsOf(window), alone: (work) => (isBroken ? failing : window).alone(work) }])
    const place = door.place('trial')
    isBroken = true
    place.paid()
    place.leave()
    expect(door.reports).to.include('rate_limit_alone')
  })
})

/** A window's methods as those of a plain object, of which a test replaces one. */
function methodsOf(window: Window): Window {
  return {
    alone: (work) => window.alone(work),
    total: () => window.total(),
    entries: (order) => window.entries(order),
    find: (key) => window.find(key),
    put: (entry) => window.put(entry),
    close: () => window.close(),
  }
}
