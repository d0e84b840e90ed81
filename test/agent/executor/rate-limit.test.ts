/** The shared rate limit: at, below and above the limit, over time, and between kinds of requests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { RateLimit, type Slot } from '../../../agent/executor/rate-limit.ts'
import type { Refused } from '../../../agent/operation/outcome.ts'
import { MemoryWindow } from '../../../store/memory-window.ts'
import type { AdmissionKind, SlotKind } from '../../../store/slots.ts'
import { WindowSlots } from '../../../store/window-slots.ts'
import { NO_SLOTS, openWindow, type SlidingWindow } from '../../../store/window.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const MINUTE_MS = 60_000

/** The windows of the tests: one in memory, or two on one file that are used in turn, as by two processes. */
const SETUPS: Record<string, (directory: string) => SlidingWindow[]> = {
  'with one window in memory': () => [new MemoryWindow()],
  'with two windows on one file': (directory) => [openWindow(directory), openWindow(directory)],
}

/** Rate limits with a clock that the test sets. */
class LimitHarness {
  time = START
  readonly limits: RateLimit[]
  readonly reports: string[] = []

  constructor(perMinute: number, windows: SlidingWindow[]) {
    const report = (event: string) => void this.reports.push(event)
    const now = () => new Date(this.time)
    this.limits = windows.map(
      (window) => new RateLimit({ slots: new WindowSlots({ perMinute, now, window, report }), now, report }),
    )
  }

  enter(kind: AdmissionKind): Promise<Slot | Refused> {
    const [next] = this.limits
    if (!next) throw new Error('The test has no rate limit')
    this.limits.push(...this.limits.splice(0, 1))
    return next.enter(kind)
  }

  /** Throws when the request is refused. */
  async take(kind: AdmissionKind): Promise<Slot> {
    const slot = await this.enter(kind)
    if (slot.kind === 'refused') throw new Error('The limit is reached')
    return slot
  }

  /** The seconds of `Retry-After`, or 0 when a slot is free. Takes no slot. */
  async wait(kind: AdmissionKind): Promise<number> {
    const slot = await this.enter(kind)
    if (slot.kind === 'refused') {
      expect(slot.refusal.code).to.equal('rate_limited')
      return slot.refusal.retryAfterSeconds ?? Number.NaN
    }
    slot.release()
    return 0
  }

  async fill(kind: AdmissionKind, count: number): Promise<Slot[]> {
    const slots = []
    while (slots.length < count) slots.push(await this.take(kind))
    return slots
  }

  /** The number of requests admitted before one is refused. */
  async count(kind: AdmissionKind): Promise<number> {
    for (let count = 0; ; count += 1) if ((await this.enter(kind)).kind === 'refused') return count
  }
}

for (const [setup, openWindows] of Object.entries(SETUPS)) {
  describe(`the rate limit ${setup}`, () => {
    const opened: SlidingWindow[] = []
    const directories: string[] = []

    function openLimit(perMinute: number): LimitHarness {
      const directory = mkdtempSync(join(tmpdir(), 'limits-'))
      const windows = openWindows(directory)
      directories.push(directory)
      opened.push(...windows)
      return new LimitHarness(perMinute, windows)
    }
    afterEach(async () => {
      for (const window of opened.splice(0)) await window.close()
      for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
    })

    for (const kind of ['trial', 'paid'] as const) {
      describe(`for ${kind} requests`, () => {
        for (const perMinute of [1, 3, 120]) {
          it(`admits ${perMinute} a minute, refuses the next and does not count it`, async () => {
            const limit = openLimit(perMinute)
            for (const minute of [0, 1]) {
              limit.time = START + minute * MINUTE_MS
              await limit.fill(kind, perMinute)
              for (let attempt = 0; attempt < 3; attempt += 1) expect(await limit.wait(kind)).to.equal(60)
            }
          })
        }

        it('[6.2.4] frees a slot after a minute and rounds the wait up to whole seconds', async () => {
          const limit = openLimit(2)
          await limit.take(kind)
          limit.time += 10_000
          await limit.take(kind)
          const WAITS: [at: number, seconds: number][] = [
            [10_000, 50],
            [10_001, 50],
            [10_999, 50],
            [11_000, 49],
            [59_000, 1],
            [59_999, 1],
            [60_000, 0],
          ]
          for (const [at, seconds] of WAITS) {
            limit.time = START + at
            expect(await limit.wait(kind), String(at)).to.equal(seconds)
          }
          await limit.take(kind)
          expect(await limit.wait(kind)).to.equal(10)
        })

        it('holds when the clock is set back, and refuses for a minute at most', async () => {
          for (const jump of [200, 30_000, 3_600_000]) {
            const limit = openLimit(2)
            await limit.take(kind)
            limit.time += 20_000
            await limit.take(kind)
            limit.time -= jump
            expect(await limit.wait(kind), String(jump)).to.be.within(1, 60)
            limit.time += MINUTE_MS
            await limit.fill(kind, 2)
            expect(await limit.wait(kind), `a minute after ${jump}`).to.equal(60)
          }
        })

        it('frees all slots when the clock is set ahead', async () => {
          const limit = openLimit(2)
          await limit.fill(kind, 2)
          limit.time += 86_400_000
          expect(await limit.wait(kind)).to.equal(0)
        })
      })
    }

    it('[6.2.2] limits each kind by its own groups of kinds', async () => {
      const ROWS: [taken: Partial<Record<SlotKind, number>>, admitted: string, refused: string][] = [
        [{ paid: 119 }, 'paid', ''],
        [{ paid: 120 }, '', 'paid trial known'],
        [{ trial: 60, paid: 60 }, 'paid', ''],
        [{ trial: 120 }, 'paid known', 'trial'],
        [{ trial: 119, paid: 119 }, 'trial', ''],
        [{ known: 120 }, 'trial known paid', ''],
        [{ failed: 120 }, 'known paid', 'trial'],
        [{ failed: 119 }, 'trial', ''],
        [{ failed: 60, trial: 60 }, '', 'trial'],
        [{ failed: 60, paid: 119 }, 'trial', ''],
      ]
      for (const [taken, admitted, refused] of ROWS) {
        const limit = openLimit(120)
        // In this order, none of these requests is refused.
        for (const slot of await limit.fill('trial', taken.failed ?? 0)) slot.markFailed()
        for (const kind of ['paid', 'trial', 'known'] as const) await limit.fill(kind, taken[kind] ?? 0)
        for (const kind of admitted.split(' ').filter(Boolean) as AdmissionKind[])
          expect(await limit.wait(kind), `${kind} after ${JSON.stringify(taken)}`).to.equal(0)
        for (const kind of refused.split(' ').filter(Boolean) as AdmissionKind[])
          expect(await limit.wait(kind), `${kind} after ${JSON.stringify(taken)}`).to.equal(60)
      }
    })

    it('refuses to confirm a payment when paid requests fill the window', async () => {
      for (const kind of ['trial', 'known'] as const) {
        const limit = openLimit(2)
        const [first, second] = (await limit.fill(kind, 2)) as [Slot, Slot]
        await limit.take('paid')
        expect(await first.confirmPaid()).to.equal(undefined)
        expect(await second.confirmPaid()).to.have.nested.property('refusal.retryAfterSeconds', 60)
        second.release()
        first.release()
        expect(await limit.wait('paid')).to.equal(0)
        expect(await limit.wait('trial')).to.equal(0)
      }
    })

    it('frees a slot on disposal, unless it is confirmed or marked as failed', async () => {
      const decisions: [decide: (slot: Slot) => unknown, countedAs: AdmissionKind | undefined][] = [
        [() => undefined, undefined],
        [(slot) => slot.release(), undefined],
        [(slot) => slot.markFailed(), 'trial'],
        [(slot) => slot.confirmPaid(), 'paid'],
      ]
      for (const [decide, countedAs] of decisions) {
        const limit = openLimit(1)
        {
          using slot = await limit.take('trial')
          await decide(slot)
        }
        for (const kind of ['trial', 'paid'] as const) {
          // A trial is refused when paid requests fill the window, too.
          const isFree = countedAs === undefined || (kind === 'paid' && countedAs === 'trial')
          expect((await limit.wait(kind)) === 0, `${String(decide)} ${kind}`).to.equal(isFree)
        }
      }
    })

    it('remembers a payer whose payment was marked as failed', async () => {
      const now = () => new Date(START)
      const limit = new RateLimit({ slots: new WindowSlots({ perMinute: 1, now }), now })
      const slot = await limit.enter('known', 'payer')
      if (slot.kind === 'slot') slot.markFailed()
      expect(limit.hasFailed('payer')).to.equal(true)
      expect(limit.hasFailed('other')).to.equal(false)
    })

    it('agrees with a model that counts every slot', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 4 }),
          fc.array(step, { maxLength: 60 }),
          async (perMinute, steps) => {
            const limit = openLimit(perMinute)
            const model = new Model(perMinute)
            const slots: { slot: Slot; counted: CountedSlot }[] = []
            for (const { kind, wait, end, of } of steps) {
              limit.time += wait
              const expected = model.wait(kind, limit.time)
              const slot = await limit.enter(kind)
              if (slot.kind === 'refused') {
                expect(slot.refusal.retryAfterSeconds).to.equal(Math.max(1, Math.ceil(expected / 1000)))
                expect(expected).to.be.greaterThan(0)
              } else {
                expect(expected).to.equal(0)
                slots.push({ slot, counted: model.enter(kind, limit.time) })
              }
              const ended = end === 'none' ? undefined : slots.splice(of % (slots.length || 1), 1)[0]
              if (!ended || end === 'none') continue
              const refused = await ended.slot[end]()
              expect(refused !== undefined).to.equal(model.end(ended.counted, end, limit.time))
            }
            expect(limit.reports).to.deep.equal([])
          },
        ),
        { numRuns: 60 },
      )
    })
  })
}

/** One request after `wait` milliseconds. Then `end` happens to one of the open slots. */
const step = fc.record({
  kind: fc.constantFrom<AdmissionKind>('trial', 'known', 'paid'),
  wait: fc.oneof(fc.constantFrom(0, 1, 29_999, 59_999, MINUTE_MS), fc.integer({ min: 0, max: 20_000 })),
  end: fc.constantFrom('none', 'confirmPaid', 'markFailed', 'release'),
  of: fc.nat(10),
})

interface CountedSlot {
  at: number
  kind: SlotKind
}

/** The rule as a simple count over all slots. */
class Model {
  readonly #perMinute: number
  #all: CountedSlot[] = []

  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  wait(kind: AdmissionKind, now: number): number {
    const times = (...kinds: SlotKind[]) =>
      this.#all.filter((each) => kinds.includes(each.kind) && each.at > now - MINUTE_MS).map(({ at }) => at)
    const measured = {
      trial: [times('paid'), times('trial', 'failed')],
      known: [times('paid')],
      paid: [times('paid')],
    }
    return Math.max(
      ...measured[kind].map((list) => {
        const last = list.toSorted((one, other) => other - one)[this.#perMinute - 1]
        return last === undefined ? 0 : last + MINUTE_MS - now
      }),
    )
  }

  enter(kind: SlotKind, at: number): CountedSlot {
    const counted = { at, kind }
    this.#all.push(counted)
    return counted
  }

  /** Returns whether the confirmation is refused. */
  end(counted: CountedSlot, end: 'confirmPaid' | 'markFailed' | 'release', now: number): boolean {
    if (end === 'confirmPaid' && this.wait('paid', now) > 0) return true
    if (end === 'markFailed' && counted.kind === 'trial') counted.kind = 'failed'
    else this.#all = this.#all.filter((each) => each !== counted)
    if (end === 'confirmPaid') this.enter('paid', now)
    return false
  }
}

describe('leases of slots', () => {
  const PER_MINUTE = 5_000
  /** The size of a lease at this limit. */
  const LEASE_SLOTS = 5

  /** Two rate limits on one window, with equal clocks. */
  function open(perMinute = PER_MINUTE) {
    const window = new MemoryWindow()
    const [limit, other] = [new LimitHarness(perMinute, [window]), new LimitHarness(perMinute, [window])]
    const advance = (milliseconds: number) => [limit, other].forEach((each) => (each.time += milliseconds))
    return { window, limit, other, advance }
  }

  it('change the window once for all their slots', async () => {
    const { window, limit } = open()
    await limit.fill('trial', LEASE_SLOTS)
    expect(window.total()).to.deep.include({ revision: 1 })
    await limit.take('trial')
    expect(window.total()).to.deep.include({ revision: 2 })
  })

  it('[6.2.1] never admit more than the limit in any minute', async () => {
    // The lowest limit with leases of more than one slot, so that few requests reach it.
    const perMinute = 2_000
    const burst = fc.record({
      isOther: fc.boolean(),
      count: fc.integer({ min: 1, max: 1_200 }),
      wait: fc.constantFrom(0, 1, 50, 99, 100, 101, 5_000, 59_899, 59_900, 59_999),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(burst, { minLength: 4, maxLength: 10 }), async (bursts) => {
        const { limit, other, advance } = open(perMinute)
        const taken: { at: number; count: number }[] = []
        for (const { isOther, count, wait } of bursts) {
          advance(wait)
          const used = isOther ? other : limit
          let entered = 0
          while (entered < count && (await used.enter('trial')).kind === 'slot') entered += 1
          taken.push({ at: used.time, count: entered })
          const inLastMinute = taken.filter(({ at }) => at > used.time - MINUTE_MS)
          expect(inLastMinute.reduce((sum, each) => sum + each.count, 0)).to.be.at.most(perMinute)
        }
      }),
      { numRuns: 20 },
    )
  })

  it('return unused slots with the next lease', async () => {
    const { window, limit, advance } = open()
    for (let lease = 0; lease < 10; lease += 1) {
      await limit.take('trial')
      advance(101)
    }
    expect(window.total().counts.trial).to.equal(9 + LEASE_SLOTS)
  })

  it('of a crashed process count for a minute', async () => {
    const { limit: crashed, other, advance } = open()
    await crashed.take('trial')
    expect(await other.count('trial')).to.equal(PER_MINUTE - LEASE_SLOTS)
    advance(MINUTE_MS + 100)
    expect(await other.count('trial')).to.equal(PER_MINUTE)
  })

  it('reuse released slots in the same process', async () => {
    const { window, limit } = open()
    for (let request = 0; request < 100; request += 1) (await limit.take('trial')).release()
    expect(window.total()).to.deep.include({ revision: 1 })
  })

  it('are not used after their end or before their start', async () => {
    for (const jump of [101, -1]) {
      const { window, limit, advance } = open()
      await limit.take('trial')
      advance(jump)
      await limit.take('trial')
      expect(window.total().revision, String(jump)).to.be.greaterThan(1)
    }
  })

  it('count until a minute after their end', async () => {
    const { limit, other, advance } = open()
    await limit.fill('trial', PER_MINUTE - 1)
    advance(100)
    await limit.take('trial')
    advance(MINUTE_MS - 1)
    expect(await other.wait('trial')).to.equal(1)
    advance(1)
    expect(await other.count('trial')).to.equal(PER_MINUTE)
  })
})

describe('slots that cannot be taken', () => {
  it('[6.2.8] refuse a request with 503, at admission and at the confirmation', async () => {
    const now = () => new Date(START)
    const slots = new WindowSlots({ perMinute: 1, now })
    const reports: string[] = []
    const limit = new RateLimit({ slots, now, report: (event) => void reports.push(event) })
    const slot = await limit.enter('trial')
    slots.take = () => Promise.reject(new Error('ECONNREFUSED'))
    expect(await limit.enter('paid')).to.have.nested.property('refusal.code', 'overloaded')
    expect(slot.kind === 'slot' && (await slot.confirmPaid())).to.have.nested.property('refusal.code', 'overloaded')
    expect(reports).to.deep.equal(['rate_limit_unavailable', 'rate_limit_unavailable'])
  })
})

describe('a failing shared window', () => {
  let window: MemoryWindow
  let isBroken: boolean
  let limit: LimitHarness

  beforeEach(() => {
    window = new MemoryWindow()
    isBroken = true
    window.transaction = (work) => {
      if (isBroken) throw new Error('EIO')
      return MemoryWindow.prototype.transaction(work)
    }
    limit = new LimitHarness(3, [window])
  })

  it('makes the process count alone for a minute, with one report', async () => {
    await limit.fill('trial', 3)
    expect(await limit.wait('trial')).to.equal(60)
    expect(limit.reports).to.deep.equal(['rate_limit_alone'])
    limit.time += MINUTE_MS
    await limit.fill('trial', 3)
    expect(limit.reports).to.deep.equal(['rate_limit_alone', 'rate_limit_alone'])
  })

  it('is used again after a minute', async () => {
    await limit.fill('trial', 3)
    isBroken = false
    expect(window.total().counts).to.deep.equal(NO_SLOTS)
    limit.time += MINUTE_MS
    await limit.fill('trial', 3)
    expect(window.total().counts.trial).to.equal(3)
  })

  it('does not fail requests whose slot cannot be changed', async () => {
    isBroken = false
    const slot = await limit.take('trial')
    isBroken = true
    await slot.confirmPaid()
    slot.release()
    expect(limit.reports).to.include('rate_limit_alone')
  })
})
