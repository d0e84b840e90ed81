/** The port of the rate limit, for each of its implementations: what ends a slot. */
import { expect } from 'chai'
import { openPostgresSlots } from '../../store/postgres/slots.ts'
import type { AdmissionKind, Slots, TakenSlot } from '../../store/slots.ts'
import { WindowSlots } from '../../store/window-slots.ts'
import { findPostgres, makeEmptyLog } from '../support/postgres.ts'

const IMPLEMENTATIONS: Record<string, (perMinute: number) => Promise<Slots>> = {
  'in a window': async (perMinute) => new WindowSlots({ perMinute, now: () => new Date(0) }),
  'in PostgreSQL': async (perMinute) =>
    openPostgresSlots({
      url: await makeEmptyLog(),
      perMinute,
      clock: () => 0,
      timer: () => () => undefined,
      report: () => undefined,
    }),
}

/** A known payer takes no slot of a limited group. */
const KINDS = ['trial', 'paid'] as const

/** Whether the only slot of its kind is free again. */
const ENDS: [end: string, act: (slot: TakenSlot) => void, free: Record<(typeof KINDS)[number], boolean>][] = [
  ['released', (slot) => slot.release(), { trial: true, paid: true }],
  ['marked as failed', (slot) => slot.markFailed(), { trial: false, paid: true }],
]

for (const [implementation, open] of Object.entries(IMPLEMENTATIONS)) {
  describe(`the slots of the rate limit ${implementation}`, function () {
    this.timeout(60_000)
    let slots: Slots

    before(function () {
      if (implementation === 'in PostgreSQL' && findPostgres() === undefined) this.skip()
    })
    beforeEach(async () => {
      slots = await open(1)
    })
    afterEach(() => slots.close())

    const take = async (kind: AdmissionKind): Promise<TakenSlot> => {
      const slot = await slots.take(kind)
      if (slot.kind === 'full') throw new Error('The limit is reached')
      return slot
    }

    for (const [end, act, free] of ENDS) {
      for (const kind of KINDS) {
        it(`${free[kind] ? 'frees' : 'keeps'} a ${kind} slot that is ${end}`, async () => {
          act(await take(kind))
          expect((await slots.take(kind)).kind).to.equal(free[kind] ? 'taken' : 'full')
        })
      }
    }

    for (const kind of KINDS) {
      it(`ignores calls on a ${kind} slot that was released, and frees one that failed`, async () => {
        const slot = await take(kind)
        slot.markFailed()
        slot.release()
        const next = await take(kind)
        slot.release()
        slot.markFailed()
        expect((await slots.take(kind)).kind).to.equal('full')
        next.release()
        expect((await slots.take(kind)).kind).to.equal('taken')
      })
    }
  })
}
