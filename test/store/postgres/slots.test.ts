/** The slots of the rate limit in PostgreSQL: several nodes, leases, and a database that fails. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Pool } from 'pg'
import { openPostgresSlots } from '../../../store/postgres/slots.ts'
import type { AdmissionKind, NoSlot, Slots, TakenSlot } from '../../../store/slots.ts'
import { holdTimers, type HeldTimers } from '../../support/held-timers.ts'
import { findPostgres, makeEmptyLog, withPool } from '../../support/postgres.ts'
import { startPostgresProxy } from '../../support/postgres-proxy.ts'

const LEASE_MS = 2_000
const MINUTE_MS = 60_000
/** Less than a minute, because the database's clock also runs during a test. */
const EARLY_MS = 50_000

interface Node {
  slots: Slots
  timers: HeldTimers
  /** The lead of this node's clock over that of the test. */
  aheadMs: number
}

describe('the rate limit in PostgreSQL', function () {
  this.timeout(60_000)
  let url: string
  let elapsedMs: number
  let opened: Node[]

  before(function () {
    if (findPostgres() === undefined) this.skip()
  })
  beforeEach(async () => {
    url = await makeEmptyLog()
    elapsedMs = 0
    opened = []
  })
  afterEach(async () => {
    await Promise.all(opened.map(({ slots }) => slots.close()))
  })

  async function open(perMinute: number, options: { url?: string; clock?: () => number } = {}): Promise<Node> {
    const timers = holdTimers((milliseconds) => milliseconds === LEASE_MS)
    const aheadMs = 1_000_000 * opened.length
    const clock = () => elapsedMs + aheadMs
    const { timer } = timers
    const slots = await openPostgresSlots({ url, perMinute, clock, timer, report: () => undefined, ...options })
    opened.push({ slots, timers, aheadMs })
    return { slots, timers, aheadMs }
  }

  const sql = (statement: string) => withPool(url, (pool: Pool) => pool.query(statement))

  /** Moves the clocks of the nodes and of the database. The leases that end are returned. */
  async function advance(milliseconds: number): Promise<void> {
    elapsedMs += milliseconds
    await sql(`update rate_limit_slots set free_at = free_at - ${milliseconds} * interval '1 millisecond'`)
    for (const { timers, slots } of opened) {
      timers.fire()
      // Waits until the rows are returned.
      await slots.counts()
    }
  }

  async function take(node: Node, kind: AdmissionKind): Promise<TakenSlot> {
    const slot = await node.slots.take(kind)
    if (slot.kind === 'full') throw new Error('The limit is reached')
    return slot
  }

  async function fill(node: Node, kind: AdmissionKind): Promise<TakenSlot[]> {
    const taken = []
    for (;;) {
      const slot = await node.slots.take(kind)
      if (slot.kind === 'full') return taken
      taken.push(slot)
    }
  }

  const statements = async () =>
    (await sql('select count(distinct free_at)::int as count from rate_limit_slots where holder is not null'))
      .rows[0] as unknown

  for (const kind of ['trial', 'paid'] as const) {
    it(`[6.2.1] admits exactly the limit of ${kind} requests over two nodes with different clocks`, async () => {
      const nodes = [await open(12), await open(12)]
      const results = await Promise.all(
        Array.from({ length: 40 }, (_, index) => (nodes[index % 2] as Node).slots.take(kind)),
      )
      expect(results.filter((each) => each.kind === 'taken')).to.have.lengthOf(12)
      const refused = results.filter((each): each is NoSlot => each.kind === 'full')
      // The slots of the last lease are free after its end and a minute.
      for (const { waitMs } of refused) expect(waitMs).to.be.within(MINUTE_MS, MINUTE_MS + LEASE_MS)
      await advance(EARLY_MS)
      expect((await nodes[0]?.slots.take(kind))?.kind).to.equal('full')
      await advance(MINUTE_MS + LEASE_MS - EARLY_MS)
      expect(await fill(nodes[1] as Node, kind)).to.have.lengthOf(12)
    })
  }

  it('[6.2.8] counts leased slots as used, and returns unused slots after two seconds', async () => {
    const [one, other] = [await open(120), await open(120)]
    const used = await take(one, 'paid')
    expect(await one.slots.counts()).to.deep.equal({ trial: 0, paid: 3 })
    expect(await fill(other, 'paid')).to.have.lengthOf(117)
    await advance(LEASE_MS + 1)
    expect(await fill(other, 'paid')).to.have.lengthOf(2)
    used.release()
    await advance(LEASE_MS + 1)
    expect(await fill(other, 'paid')).to.have.lengthOf(1)
  })

  it('does not use a lease after its end', async () => {
    const node = await open(120)
    await take(node, 'paid')
    elapsedMs += LEASE_MS + 1
    await take(node, 'paid')
    expect(await node.slots.counts()).to.deep.equal({ trial: 0, paid: 4 })
  })

  for (const kind of ['trial', 'paid'] as const satisfies AdmissionKind[])
    it(`admits ${kind} requests if an earlier lease ends while a statement takes a new one`, async () => {
      const node = await open(120)
      // A lease has three slots. Two of them can be used for one more millisecond.
      await take(node, 'paid')
      elapsedMs = LEASE_MS
      const pending = Array.from({ length: 5 }, () => node.slots.take(kind))
      // The statement has been sent, and its reply cannot have arrived.
      await new Promise(setImmediate)
      elapsedMs = LEASE_MS + 5
      expect((await Promise.all(pending)).map((slot) => slot.kind)).to.deep.equal(pending.map(() => 'taken'))
    })

  it('takes the slots of a whole sale with one statement, and those of many requests with two', async () => {
    const node = await open(120)
    await take(node, 'trial')
    await take(node, 'paid')
    expect(await statements()).to.deep.equal({ count: 1 })
    const many = await open(1_000)
    await Promise.all(Array.from({ length: 64 }, () => take(many, 'trial')))
    expect(await statements()).to.deep.equal({ count: 3 })
  })

  it('[6.2.2] refuses every kind when paid requests fill the window, and only new payers when trials do', async () => {
    const node = await open(3)
    expect(await fill(node, 'trial')).to.have.lengthOf(3)
    expect((await node.slots.take('known')).kind).to.equal('taken')
    for (const trial of await fill(node, 'trial')) trial.markFailed()
    expect(await fill(node, 'paid')).to.have.lengthOf(3)
    for (const kind of ['trial', 'known', 'paid'] as const)
      expect((await node.slots.take(kind)).kind, kind).to.equal('full')
  })

  it('keeps the slot of a failed trial and frees that of a sold one', async () => {
    const node = await open(2)
    const [failed, sold] = [await take(node, 'trial'), await take(node, 'trial')]
    failed.markFailed()
    sold.release()
    sold.release()
    expect(await fill(node, 'trial')).to.have.lengthOf(1)
  })

  it('counts the slots of a killed node for a minute', async () => {
    const killed = await open(12)
    await fill(killed, 'trial')
    opened = []
    const node = await open(12)
    await advance(EARLY_MS)
    expect(await fill(node, 'trial')).to.have.lengthOf(0)
    await advance(MINUTE_MS + LEASE_MS - EARLY_MS)
    expect(await fill(node, 'trial')).to.have.lengthOf(12)
    await killed.slots.close()
  })

  it('does not free a slot that another node has taken since', async () => {
    const [one, other] = [await open(1), await open(1)]
    const old = await take(one, 'paid')
    await advance(MINUTE_MS + LEASE_MS + 1)
    await take(other, 'paid')
    old.release()
    await advance(LEASE_MS + 1)
    expect((await one.slots.take('paid')).kind).to.equal('full')
  })

  it('[6.2.8] counts groups of slots at high limits, and never more than the limit', async () => {
    const [one, other] = [await open(2_501), await open(2_501)]
    expect((await fill(one, 'trial')).length + (await fill(other, 'trial')).length).to.equal(2_500)
  })

  it('follows a changed limit after a restart', async () => {
    await open(12)
    await open(2)
    expect(await fill(await open(3), 'trial')).to.have.lengthOf(3)
  })

  it('refuses for a minute at most after the clock of the database was set back', async () => {
    const node = await open(1)
    await take(node, 'paid')
    await advance(-3_600_000)
    elapsedMs += 3_600_000
    const full = await node.slots.take('paid')
    expect(full.kind === 'full' && full.waitMs).to.be.within(1, MINUTE_MS + LEASE_MS)
    await advance(MINUTE_MS + LEASE_MS + 1)
    await take(node, 'paid')
  })

  for (const part of ['request', 'reply'] as const) {
    it(`takes no more than the limit when the ${part} is lost`, async () => {
      const proxy = await startPostgresProxy(url)
      const node = await open(12, { url: proxy.url })
      proxy.lose(part, 'for update skip locked', 1)
      await take(node, 'trial')
      expect(proxy.left()).to.equal(0)
      expect(await fill(node, 'trial')).to.have.lengthOf(part === 'request' ? 11 : 10)
      await Promise.all(opened.splice(0).map(({ slots }) => slots.close()))
      await proxy.close()
    })
  }

  it('rejects while the database does not answer, and when it answers after the end of the lease', async () => {
    const proxy = await startPostgresProxy(url)
    const failureOf = (work: Promise<unknown>) => work.catch((error: unknown) => (error as Error).name)
    let readings = 0
    const slow = await open(12, { clock: () => 1_000 * (readings += 1) })
    expect(await failureOf(slow.slots.take('trial'))).to.equal('StoreError')
    const lost = await open(12, { url: proxy.url })
    await proxy.close()
    expect(await failureOf(lost.slots.take('trial'))).to.equal('StoreError')
  })

  it('[6.2.8] never exceeds the limit and loses no slot, over two nodes and any order of events', async () => {
    const step = fc.record({
      node: fc.nat(1),
      kind: fc.constantFrom<AdmissionKind>('trial', 'paid'),
      takes: fc.integer({ min: 0, max: 4 }),
      releases: fc.nat(2),
      wait: fc.constantFrom(0, 0, 0, 1_999, 2_001, 31_000, 62_001),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const limit = 5
        await sql('delete from rate_limit_slots')
        const nodes = [await open(limit), await open(limit)] as const
        let held: { kind: AdmissionKind; at: number; slot: TakenSlot }[] = []
        const counting = (kind: AdmissionKind, milliseconds: number) =>
          held.filter((each) => each.kind === kind && each.at > elapsedMs - milliseconds).length
        for (const { node, kind, takes, releases, wait } of steps) {
          for (let index = 0; index < takes; index += 1) {
            const slot = await nodes[node as 0 | 1].slots.take(kind)
            if (slot.kind === 'taken') held.push({ kind, at: elapsedMs, slot })
            expect(counting(kind, EARLY_MS)).to.be.at.most(limit)
          }
          for (const { slot } of held.slice(0, releases)) slot.release()
          held = held.slice(releases)
          if (wait > 0) await advance(wait)
        }
        // After the leases have ended, exactly the slots that count are taken.
        await advance(LEASE_MS + 1)
        for (const { slots } of nodes) await slots.close()
        opened = []
        const taken = await sql(
          `select count(*) filter (where quota = 'trial')::int as trial, count(*) filter (where quota = 'paid')::int as paid
           from rate_limit_slots where free_at > now()`,
        )
        const [counts] = taken.rows as { trial: number; paid: number }[]
        for (const kind of ['trial', 'paid'] as const)
          expect(counts?.[kind]).to.be.within(counting(kind, EARLY_MS), counting(kind, MINUTE_MS + LEASE_MS))
      }),
      { numRuns: 25 },
    )
  })
})
