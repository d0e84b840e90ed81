/** The shared rate limit: at, below and above it, as the minute slides, and who is measured against whom. */
import { expect } from 'chai'
import { RateLimit, type Place } from '../../../agent/executor/admit.ts'
import type { Refused } from '../../../agent/operation/outcome.ts'
import { header, signedPayment } from '../../support/payments.ts'
import { TestSeller } from '../../support/seller.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const MINUTE = 60_000

/** A limit with a clock that a test moves. */
class Door {
  at = START
  readonly limit: RateLimit

  constructor(perMinute: number) {
    this.limit = new RateLimit({ perMinute, now: () => new Date(this.at) })
  }

  enter(kind: 'unpaid' | 'paying'): Place | Refused {
    return this.limit.enter(kind)
  }

  /** Enters and must be let in. */
  place(kind: 'unpaid' | 'paying'): Place {
    const place = this.enter(kind)
    if ('kind' in place) throw new Error('The limit is reached')
    return place
  }

  /** The seconds to wait, or 0 when there is a place, which is given back. */
  wait(kind: 'unpaid' | 'paying'): number {
    const place = this.enter(kind)
    if ('kind' in place) {
      expect(place.refusal.code).to.equal('rate_limited')
      return place.refusal.retryAfterSeconds ?? Number.NaN
    }
    place.leave()
    return 0
  }

  fill(kind: 'unpaid' | 'paying', count: number): Place[] {
    return Array.from({ length: count }, () => this.place(kind))
  }
}

describe('the rate limit', () => {
  for (const kind of ['unpaid', 'paying'] as const) {
    describe(`of ${kind} requests`, () => {
      for (const perMinute of [1, 3, 120]) {
        it(`lets in ${perMinute} a minute and refuses the next`, () => {
          const door = new Door(perMinute)
          door.fill(kind, perMinute - 1)
          expect(door.wait(kind)).to.equal(0)
          door.place(kind)
          expect(door.wait(kind)).to.equal(60)
          expect(door.wait(kind)).to.equal(60)
        })
      }

      it('does not count what it refused', () => {
        const door = new Door(2)
        door.fill(kind, 2)
        for (let attempt = 0; attempt < 10; attempt += 1) door.enter(kind)
        door.at += MINUTE
        door.fill(kind, 2)
        expect(door.wait(kind)).to.equal(60)
      })

      it('slides: each place is free a minute after it was taken, and not before', () => {
        const door = new Door(3)
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
          const door = new Door(1)
          door.place(kind)
          door.at += elapsed
          expect(door.wait(kind), String(elapsed)).to.equal(seconds)
          door.at += seconds * 1000
          expect(door.wait(kind), `after ${elapsed}`).to.equal(0)
        }
      })

      it('locks nobody out when the clock jumps back', () => {
        const door = new Door(2)
        door.fill(kind, 2)
        door.at -= 3_600_000
        expect(door.wait(kind)).to.equal(0)
        door.fill(kind, 2)
        expect(door.wait(kind)).to.equal(60)
        door.at += MINUTE
        expect(door.wait(kind)).to.equal(0)
      })

      it('forgets everything when the clock jumps ahead', () => {
        const door = new Door(2)
        door.fill(kind, 2)
        door.at += 86_400_000
        expect(door.wait(kind)).to.equal(0)
      })
    })
  }

  it('measures the unpaid against everything, and the paying against the paying', () => {
    const rows: { unpaid: number; paying: number; next: 'unpaid' | 'paying'; free: boolean }[] = [
      { unpaid: 119, paying: 0, next: 'unpaid', free: true },
      { unpaid: 120, paying: 0, next: 'unpaid', free: false },
      { unpaid: 120, paying: 0, next: 'paying', free: true },
      { unpaid: 60, paying: 59, next: 'unpaid', free: true },
      { unpaid: 60, paying: 60, next: 'unpaid', free: false },
      { unpaid: 60, paying: 60, next: 'paying', free: true },
      { unpaid: 0, paying: 119, next: 'paying', free: true },
      { unpaid: 0, paying: 120, next: 'paying', free: false },
      { unpaid: 0, paying: 120, next: 'unpaid', free: false },
      { unpaid: 120, paying: 119, next: 'paying', free: true },
      { unpaid: 120, paying: 120, next: 'paying', free: false },
    ]
    for (const { unpaid, paying, next, free } of rows) {
      const door = new Door(120)
      door.fill('unpaid', unpaid)
      door.fill('paying', paying)
      expect(door.wait(next) === 0, JSON.stringify({ unpaid, paying, next })).to.equal(free)
    }
  })

  it('counts a failed payment as unpaid', () => {
    const door = new Door(2)
    const [first] = door.fill('paying', 2) as [Place, Place]
    expect(door.wait('paying')).to.equal(60)
    first.failed()
    expect(door.wait('paying')).to.equal(0)
    expect(door.wait('unpaid')).to.equal(60)
  })

  it('tells when there is a place, though failed payments stand in more of them than there are', () => {
    const door = new Door(2)
    for (let second = 0; second < 10; second += 1) {
      door.at = START + second * 1000
      door.place('paying').failed()
    }
    // Of ten, eight must go before there is a place: the ninth-last is from second 8.
    expect(door.wait('unpaid')).to.equal(59)
    door.at = START + 8_000 + MINUTE
    expect(door.wait('unpaid')).to.equal(0)
  })

  it('gives the place back of a request that came to nothing', () => {
    const door = new Door(1)
    door.place('paying').leave()
    door.place('unpaid').leave()
    door.place('unpaid')
    expect(door.wait('unpaid')).to.equal(60)
  })
})

describe('the rate limit in a sale', () => {
  let test: TestSeller

  beforeEach(async () => {
    test = await TestSeller.open()
  })
  afterEach(() => test.close())

  const code = async (asked: ReturnType<TestSeller['lookup']>) => {
    const outcome = await asked
    return outcome.kind === 'answer' ? 'answer' : outcome.refusal.code
  }

  it('lets a payer in when the unpaid have filled the minute, and asks nobody about the others', async () => {
    test.limitTo(2)
    const codes = [await code(test.lookup()), await code(test.lookup()), await code(test.lookup())]
    expect(codes).to.deep.equal(['payment_required', 'payment_required', 'rate_limited'])
    expect(test.calls).to.deep.equal([])
    expect(await code(test.lookup(await signedPayment()))).to.equal('answer')
    expect(await code(test.lookup(await signedPayment()))).to.equal('answer')
    const before = test.calls.length
    expect(await code(test.lookup(await signedPayment()))).to.equal('rate_limited')
    expect(test.calls.length).to.equal(before)
  })

  it('counts bad payments as unpaid, whether we or the facilitator refuse them', async () => {
    test.limitTo(2)
    expect(await code(test.ask({ operation: 'lookup', input: { company_number: '1' } }, ['no payment']))).to.equal(
      'dataset_unavailable',
    )
    expect(await code(test.lookup(await signedPayment({ authorization: { value: '999' } })))).to.equal(
      'payment_invalid',
    )
    test.script.verify = async () => ({ isValid: false, invalidReason: 'insufficient_funds' })
    expect(await code(test.lookup(await signedPayment()))).to.equal('payment_rejected')
    expect(await code(test.lookup(await signedPayment()))).to.equal('payment_rejected')
    expect(await code(test.lookup())).to.equal('rate_limited')
    expect(await code(test.lookup(await signedPayment({ authorization: { value: '999' } })))).to.equal('rate_limited')
  })

  it('does not count a replay, nor refuse one', async () => {
    test.limitTo(1)
    const payment = await signedPayment()
    expect(await code(test.lookup(payment))).to.equal('answer')
    expect(await code(test.lookup())).to.equal('rate_limited')
    for (let attempt = 0; attempt < 5; attempt += 1) expect(await code(test.lookup(payment))).to.equal('answer')
    test.now = () => new Date(Date.now() + MINUTE)
    expect(await code(test.lookup(payment))).to.equal('answer')
    expect(await code(test.lookup())).to.equal('payment_required')
  })

  it('does not count what a missing dataset refuses', async () => {
    test.limitTo(1)
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await code(test.lookup(undefined, '1'))).to.equal('dataset_unavailable')
      expect(await code(test.lookup(await signedPayment(), '1'))).to.equal('dataset_unavailable')
    }
    expect(await code(test.lookup())).to.equal('payment_required')
  })

  it('refuses with the payment kept good: the same one buys when there is a place', async () => {
    test.limitTo(1)
    await test.lookup(await signedPayment())
    const payment = await signedPayment()
    const refused = await test.lookup(payment)
    expect(refused).to.deep.include({ kind: 'refused' })
    expect(await test.records()).to.deep.equal([])
    test.now = () => new Date(Date.now() + MINUTE)
    expect(await code(test.lookup(payment))).to.equal('answer')
    expect(header(payment)).to.be.a('string')
  })
})
