/** The response log on a real LMDB: claims, fences, states, and what is read back. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { open, type RootDatabase } from 'lmdb'
import {
  FINISHED_DATABASE,
  LAYOUT_KEY,
  PAYMENT_IDS_DATABASE,
  RECORDS_DATABASE,
  responsesFolder,
  UNFINISHED_DATABASE,
  UNFINISHED_LIST_DATABASE,
} from '../../store/layout.ts'
import { StoreError } from '../../store/open.ts'
import { claimedBytes, isFinal, STATES, TRANSITIONS, type State } from '../../store/record.ts'
import { openResponseLog, type ResponseLog } from '../../store/responses.ts'
import { aRecord, hold } from '../support/records.ts'

const updated_at = '2026-01-02T00:00:00.000Z'

const OPENER = fileURLToPath(new URL(import.meta.resolve('#root/dist/test/support/open-at-once.js')))

const copyOf = (stored: Buffer | undefined) => Buffer.from(stored ?? Buffer.alloc(0))

function flipped(stored: Buffer | undefined): Buffer {
  const bytes = copyOf(stored)
  const at = bytes.length - 20
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  return bytes
}

/** Of the error that a promise ends in. */
const nameOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error: unknown) => (error instanceof Error ? error.name : 'no error'),
  )

describe('the response log', () => {
  let directory: string
  let log: ResponseLog

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'responses-'))
    log = openResponseLog(directory)
  })

  afterEach(async () => {
    await log.close()
    await rm(directory, { recursive: true })
  })

  const reopen = async () => {
    await log.close()
    log = openResponseLog(directory)
  }

  /** As another program would. */
  const openDirectly = () =>
    open({ path: responsesFolder(directory), overlappingSync: false, encoding: 'json', maxDbs: 8 })
  const unfinishedIn = (environment: RootDatabase) =>
    environment.openDB<Buffer, string>({ name: UNFINISHED_DATABASE, encoding: 'binary', useVersions: true })
  const recordsIn = (environment: RootDatabase) =>
    environment.openDB<Buffer, string>({ name: RECORDS_DATABASE, encoding: 'binary' })

  it('keeps what was claimed, byte for byte, over a restart', async () => {
    const record = aRecord({ body: '{"legal_name":"TÚSÚR \\u2028 TEORANTA"}' })
    expect(await log.claim(record)).to.deep.equal({ claimed: true, record })
    await reopen()
    expect(await log.read(record.identity)).to.deep.equal(record)
  })

  it('gives the place of a payment to one claim of many', async () => {
    const claims = await Promise.all(
      Array.from({ length: 50 }, (_, index) => log.claim(aRecord({ body: `{"n":${index}}` }))),
    )
    expect(claims.filter(({ claimed }) => claimed)).to.have.lengthOf(1)
    const bodies = new Set(claims.map(({ record }) => record.body))
    expect([...bodies]).to.deep.equal(['{"n":0}'])
  })

  it('lets one of many advance a record from the same place', async () => {
    const record = aRecord({})
    await log.claim(record)
    const advances = await Promise.all(
      Array.from({ length: 50 }, () => log.advance(record, { state: 'unknown', updated_at })),
    )
    expect(advances.filter((each) => each !== undefined)).to.have.lengthOf(1)
  })

  it('does not advance from a place that a record has left, nor an unknown record', async () => {
    const record = aRecord({})
    await log.claim(record)
    await log.advance(record, { state: 'unknown', updated_at })
    expect(await log.advance(record, { state: 'unknown', updated_at })).to.equal(undefined)
    expect(await log.advance({ ...record, state: 'unknown', attempt: 2 }, { state: 'settled', updated_at })).to.equal(
      undefined,
    )
    expect(await log.advance({ ...record, identity: 'other' }, { state: 'unknown', updated_at })).to.equal(undefined)
    expect(await log.read('other')).to.equal(undefined)
  })

  for (const from of STATES) {
    for (const to of STATES) {
      const isAllowed = (TRANSITIONS[from] as readonly State[]).includes(to)
      it(`${isAllowed ? 'lets' : 'never lets'} ${from} become ${to}`, async () => {
        const record = aRecord({ state: from })
        await hold(log, record)
        const advance = log.advance(record, { state: to, updated_at })
        const outcome = await advance.then(
          (moved) => moved?.state,
          () => 'refused',
        )
        expect(outcome).to.equal(isAllowed ? to : 'refused')
        expect((await log.read(record.identity))?.state).to.equal(isAllowed ? to : from)
      })
    }
  }

  it('lists what is unfinished, and only that, also after a restart', async () => {
    for (const [index, state] of STATES.entries())
      await hold(log, aRecord({ state, nonce: `0x0${index}`, identity: `i${index}` }))
    await reopen()
    const states = await Promise.all(
      (await log.unfinished()).map(async (identity) => (await log.read(identity))?.state),
    )
    expect(states).to.have.members(['prepared', 'settling', 'unknown', 'settled', 'refused'])
  })

  it('lists thousands, each once, and lets others have their turn meanwhile', async () => {
    for (const count of [1_000, 1_500]) {
      await Promise.all(
        Array.from({ length: count }, (_, index) => log.claim(aRecord({ identity: `${count}/${index}` }))),
      )
    }
    let turns = 0
    let isListed = false
    const others = () => {
      turns += 1
      if (!isListed) setImmediate(others)
    }
    setImmediate(others)
    const identities = await log.unfinished()
    isListed = true
    expect(identities).to.have.lengthOf(2_500)
    expect(new Set(identities).size).to.equal(2_500)
    expect(turns).to.be.at.least(2)
  })

  it('lists all of exactly as many as it reads at once', async () => {
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => log.claim(aRecord({ identity: `i${index}` }))))
    expect(await log.unfinished()).to.have.lengthOf(1_000)
  })

  it('forgets a record as unfinished once its settlement is confirmed', async () => {
    const record = aRecord({ state: 'settling', attempt: 1 })
    await log.claim(record)
    const settled = await log.advance(record, { state: 'settled', payment_response: 'e30=', updated_at })
    expect(await log.unfinished()).to.deep.equal([record.identity])
    if (settled) await log.advance(settled, { state: 'confirmed', updated_at })
    expect(await log.unfinished()).to.deep.equal([])
  })

  it('knows who has paid, also after a restart, and takes nobody for another', async () => {
    const [payer, longer] = ['eip155:1/0xa/0xb', 'eip155:1/0xa/0xbc']
    const record = aRecord({ identity: `${payer}/0x1` })
    await log.claim(record)
    expect(await log.hasPaid(payer)).to.equal(false)
    await log.advance(record, { state: 'settled', payment_response: 'e30=', updated_at })
    for (const restart of [() => undefined, reopen]) {
      await restart()
      expect(await log.hasPaid(payer)).to.equal(true)
      expect(await log.hasPaid(longer)).to.equal(false)
    }
    await log.advance({ ...record, state: 'settled' }, { state: 'confirmed', updated_at })
    await reopen()
    expect(await log.hasPaid(payer)).to.equal(true)
  })

  describe('pruned', () => {
    const ended = (index: number, state: State, day: number) =>
      aRecord({ state, identity: `i${index}`, updated_at: `2026-01-${String(day).padStart(2, '0')}T00:00:00.000Z` })
    const before = new Date('2026-01-10T00:00:00.000Z')
    const left = async (count: number) => {
      const records = await Promise.all(Array.from({ length: count }, (_, index) => log.read(`i${index}`)))
      return records.flatMap((record) => (record ? [record.identity] : []))
    }

    it('loses what ended before the day, oldest first and no more than asked, and nothing else', async () => {
      const days = [9, 1, 11, 10, 5]
      for (const [index, day] of days.entries()) await hold(log, ended(index, 'confirmed', day))
      await reopen()
      expect(await log.prune({ before, max: 2 })).to.equal(2)
      expect(await left(5)).to.deep.equal(['i0', 'i2', 'i3'])
      expect(await log.prune({ before, max: 2 })).to.equal(1)
      expect(await log.prune({ before, max: 2 })).to.equal(0)
      expect(await left(5)).to.deep.equal(['i2', 'i3'])
    })

    for (const [index, state] of STATES.entries()) {
      it(`${isFinal(state) ? 'loses' : 'never loses'} an old record that is ${state}`, async () => {
        await hold(log, ended(index, state, 1))
        expect(await log.prune({ before, max: 10 })).to.equal(isFinal(state) ? 1 : 0)
        expect(await left(STATES.length)).to.deep.equal(isFinal(state) ? [] : [`i${index}`])
        expect(await log.unfinished()).to.deep.equal(isFinal(state) ? [] : [`i${index}`])
      })
    }

    it("takes along the buyer's own id, unless another payment has it by now", async () => {
      const id = { payment_id: 'payer id' }
      await hold(log, { ...ended(0, 'rejected', 1), ...id })
      await hold(log, { ...ended(1, 'confirmed', 11), ...id })
      expect(await log.prune({ before, max: 10 })).to.equal(1)
      expect((await log.read('another', 'payer id'))?.identity).to.equal('i1')
      expect(await log.prune({ before: new Date('2026-01-20T00:00:00.000Z'), max: 10 })).to.equal(1)
      await log.close()
      const environment = openDirectly()
      expect(environment.openDB({ name: PAYMENT_IDS_DATABASE, encoding: 'json' }).get('payer id')).to.equal(undefined)
      await environment.close()
      log = openResponseLog(directory)
    })

    it('goes by the end that a record has, not by one that it once had', async () => {
      await hold(log, ended(0, 'confirmed', 11))
      const environment = openDirectly()
      const finished = environment.openDB<true, string>({ name: FINISHED_DATABASE, encoding: 'json' })
      await finished.put('2026-01-01T00:00:00.000Z i0', true)
      await environment.close()
      await reopen()
      expect(await log.prune({ before, max: 10 })).to.equal(0)
      expect(await left(1)).to.deep.equal(['i0'])
    })

    it('counts from its end, not from its beginning', async () => {
      const record = ended(0, 'unknown', 1)
      await log.claim(record)
      await log.advance(record, { state: 'expired', updated_at: '2026-01-20T00:00:00.000Z' })
      expect(await log.prune({ before, max: 10 })).to.equal(0)
    })
  })

  describe('of an older layout', () => {
    const states = { i0: 'settled', i1: 'rejected', i2: 'unknown', i3: 'prepared' } as const

    /** As versions 1 and 2 left it: all records in one place, beside a list of what is unfinished. */
    async function layOut(version: 1 | 2): Promise<void> {
      for (const [identity, state] of Object.entries(states)) await hold(log, aRecord({ state, identity }))
      await log.close()
      const environment = openDirectly()
      const [unfinished, records] = [unfinishedIn(environment), recordsIn(environment)]
      const listed = [...unfinished.getKeys()]
      for (const identity of listed) await records.put(identity, copyOf(unfinished.getBinary(identity)))
      await unfinished.clearAsync()
      const list = environment.openDB<true, string>({ name: UNFINISHED_LIST_DATABASE, encoding: 'json' })
      for (const identity of listed) if (version === 2 || identity !== 'i0') await list.put(identity, true)
      await list.put('lost', true)
      if (version === 1) await environment.openDB({ name: FINISHED_DATABASE, encoding: 'json' }).drop()
      await records.put('i3', flipped(records.getBinary('i3')))
      const ids = environment.openDB<string, string>({ name: PAYMENT_IDS_DATABASE, encoding: 'json' })
      for (const identity of ['i0', 'i1', 'i3', 'lost']) await ids.put(`id of ${identity}`, identity)
      await environment.openDB({ name: PAYMENT_IDS_DATABASE, encoding: 'string' }).put('id that is damaged', '{')
      await environment.put(LAYOUT_KEY, { kind: 'responses', version })
      await environment.close()
    }

    for (const version of [1, 2] as const) {
      it(`is brought up to date by who writes: version ${version}`, async () => {
        await layOut(version)
        expect(() => openResponseLog(directory, { readOnly: true })).to.throw(
          StoreError,
          `has layout version ${version}, until`,
        )
        for (const restart of [() => (log = openResponseLog(directory)), reopen]) {
          await restart()
          expect(await log.unfinished()).to.deep.equal(['i0', 'i2', 'i3'])
          expect((await log.read('i0'))?.state).to.equal('settled')
          expect(await nameOf(log.read('i3'))).to.equal('CorruptRecord')
          expect(await log.read('lost')).to.equal(undefined)
        }
        expect(await nameOf(log.claim(aRecord({ identity: 'i4', payment_id: 'id that is damaged' })))).to.equal(
          'CorruptRecord',
        )
        const environment = openDirectly()
        expect([...recordsIn(environment).getKeys()]).to.deep.equal(['i1'])
        const ids = environment.openDB<string, string>({ name: PAYMENT_IDS_DATABASE, encoding: 'json' })
        expect([...ids.getKeys()]).to.deep.equal(['id of i0', 'id of i3', 'id that is damaged'])
        expect(environment.openDB({ name: UNFINISHED_LIST_DATABASE, encoding: 'json' }).getKeysCount()).to.equal(0)
        await environment.close()
        const settled = aRecord({ state: 'settled', identity: 'i0' })
        expect((await log.advance(settled, { state: 'confirmed', updated_at }))?.state).to.equal('confirmed')
        expect((await log.claim(aRecord({ identity: 'i2' }))).claimed).to.equal(false)
        expect((await log.claim(aRecord({ identity: 'i1' }))).claimed).to.equal(false)
        expect(await log.prune({ before: new Date(), max: 10 })).to.equal(2)
        expect([await log.read('i0'), await log.read('i1')]).to.deep.equal([undefined, undefined])
        expect(await log.unfinished()).to.deep.equal(['i2', 'i3'])
      })
    }

    it('loses nothing when two processes open it at once', async () => {
      for (let round = 0; round < 8; round += 1) {
        await layOut(2)
        const processes = [1, 2].map(() => fork(OPENER, [directory]))
        const ends = processes.map((each) => once(each, 'exit'))
        // What each says next, or how it ended.
        const heard = () =>
          Promise.all(
            processes.map(async (each, at) => {
              const [said] = (await Promise.race([once(each, 'message'), ends[at]])) as unknown[]
              return said
            }),
          )
        try {
          expect(await heard()).to.deep.equal(['ready', 'ready'])
          const counts = heard()
          const moment = Date.now() + 20
          for (const each of processes) each.send(moment)
          expect(await counts).to.deep.equal([3, 3])
        } finally {
          for (const each of processes) each.kill('SIGKILL')
          await Promise.all(ends)
          await rm(responsesFolder(directory), { recursive: true })
          log = openResponseLog(directory)
        }
      }
    }).timeout(60_000)

    it('keeps what is written afterwards, whatever a program of then does that still runs', async () => {
      await layOut(2)
      log = openResponseLog(directory)
      const environment = openDirectly()
      const list = environment.openDB<true, string>({ name: UNFINISHED_LIST_DATABASE, encoding: 'json' })
      const old = claimedBytes(aRecord({ identity: 'i0', body: 'sold again' }))
      for (const identity of ['i0', 'i2']) await list.put(identity, true)
      await recordsIn(environment).put('i0', old)
      await environment.close()
      await reopen()
      expect((await log.read('i0'))?.state).to.equal('settled')
      expect(await log.unfinished()).to.deep.equal(['i0', 'i2', 'i3'])
    })

    it('says so when it cannot be brought up to date, and lets go of it', async () => {
      await layOut(2)
      const environment = openDirectly()
      // A sealed record of a state that there never was.
      await recordsIn(environment).put('i2', claimedBytes({ ...aRecord({ identity: 'i2' }), state: 'odd' as State }))
      await environment.close()
      expect(() => openResponseLog(directory)).to.throw(StoreError, /could not be brought up to date/)
      await rm(responsesFolder(directory), { recursive: true })
      log = openResponseLog(directory)
    })
  })

  for (const pageSize of [4096, 8192]) {
    it(`of pages of ${pageSize} bytes is read and written, and noticed when its last step is cut off`, async () => {
      await log.close()
      const folder = responsesFolder(directory)
      await rm(folder, { recursive: true })
      const settings = { path: folder, noSubdir: false, overlappingSync: false, pageSize, maxDbs: 8 }
      const environment = open({ ...settings, encoding: 'json' })
      await environment.put(LAYOUT_KEY, { kind: 'responses', version: 3 })
      await environment.close()
      log = openResponseLog(directory)
      const file = join(folder, 'data.mdb')
      expect((await readFile(file)).readUInt32LE(48)).to.equal(pageSize)
      // LMDB writes what is newest into its first two pages by turns.
      for (const turn of [1, 2]) {
        const record = aRecord({ identity: `i${turn}`, body: 'x'.repeat(4_000_000) })
        await log.claim(record)
        await reopen()
        expect(await log.read(record.identity)).to.deep.equal(record)
        const copy = join(directory, `copy-${turn}`)
        await cp(folder, responsesFolder(copy), { recursive: true })
        const copied = join(responsesFolder(copy), 'data.mdb')
        await truncate(copied, (await stat(copied)).size - 2_000_000)
        expect(() => openResponseLog(copy)).to.throw(StoreError, /cut short/)
      }
    })
  }

  describe('cut short', () => {
    const path = () => join(responsesFolder(directory), 'data.mdb')

    beforeEach(async () => {
      const claims = Array.from({ length: 100 }, (_, index) =>
        log.claim(aRecord({ identity: `i${index}`, body: 'x'.repeat(40_000) })),
      )
      await Promise.all(claims)
      await log.close()
    })
    afterEach(() => (log = openResponseLog(join(directory, 'another'))))

    for (const share of [0.7, 0.3, 0.01]) {
      it(`to ${share * 100} % is refused in one line, left as it is, and the process lives`, async () => {
        await truncate(path(), Math.floor((await stat(path())).size * share))
        const before = await readFile(path())
        for (const readOnly of [false, true]) {
          expect(() => openResponseLog(directory, { readOnly })).to.throw(StoreError, /^[^\n]*cut short[^\n]*$/)
        }
        expect((await readFile(path())).equals(before)).to.equal(true)
      })
    }

    it('not at all is opened, also by a reader', async () => {
      for (const readOnly of [true, false]) {
        const whole = openResponseLog(directory, { readOnly })
        expect(await whole.unfinished()).to.have.lengthOf(100)
        expect((await whole.read('i99'))?.body).to.have.lengthOf(40_000)
        await whole.close()
      }
    })
  })

  it('begins no record with its last state', async () => {
    const begun = STATES.filter(isFinal).map((state) => aRecord({ state }))
    for (const record of begun) expect(await nameOf(log.claim(record))).to.equal('Error')
    expect(await log.unfinished()).to.deep.equal([])
  })

  for (const state of ['prepared', 'confirmed'] as const) {
    it(`never returns a ${state} record with a flipped bit, nor one that it knew before`, async () => {
      const record = aRecord({ state })
      await hold(log, record)
      expect(await log.read(record.identity)).to.deep.equal(record)
      const environment = openDirectly()
      if (state === 'prepared') {
        const unfinished = unfinishedIn(environment)
        await unfinished.put(record.identity, flipped(unfinished.getBinary(record.identity)), 1)
      } else {
        const records = recordsIn(environment)
        await records.put(record.identity, flipped(records.getBinary(record.identity)))
      }
      expect(await nameOf(log.read(record.identity))).to.equal('CorruptRecord')
      await environment.close()
      await reopen()
      expect(await nameOf(log.read(record.identity))).to.equal('CorruptRecord')
    })
  }

  for (const revision of [0, 0.5, -1, Number.MAX_SAFE_INTEGER + 1, Infinity, NaN]) {
    it(`takes no step from the revision ${revision}, which no step has written`, async () => {
      const record = aRecord({})
      await log.claim(record)
      const environment = openDirectly()
      const unfinished = unfinishedIn(environment)
      await unfinished.put(record.identity, copyOf(unfinished.getBinary(record.identity)), revision)
      await environment.close()
      expect(await nameOf(log.read(record.identity))).to.equal('CorruptRecord')
      expect(await nameOf(log.advance(record, { state: 'settled', updated_at }))).to.equal('CorruptRecord')
    })
  }

  it('takes no step from an equal place that a record came back to since it was read', async () => {
    const record = aRecord({})
    await log.claim(record)
    const settled = { ...record, state: 'settled' } as const
    await log.advance(record, { state: 'settled', payment_response: 'first', updated_at })
    const environment = openDirectly()
    const unfinished = unfinishedIn(environment)
    const revision = unfinished.getEntry(record.identity)?.version ?? 0
    await setTimeout(2)
    // In one turn of events, so that this log still sees what it has seen: the record goes away and comes back.
    const before = log.read(record.identity)
    environment.transactionSync(() => {
      void unfinished.put(record.identity, claimedBytes({ ...settled, payment_response: 'second' }), revision + 2)
    })
    const [seen, step] = [log.read(record.identity), log.advance(settled, { state: 'confirmed', updated_at })]
    expect([(await before)?.payment_response, (await seen)?.payment_response]).to.deep.equal(['first', 'first'])
    expect(await step).to.equal(undefined)
    const confirmed = await log.advance(settled, { state: 'confirmed', updated_at })
    expect(confirmed).to.deep.equal({ ...settled, state: 'confirmed', payment_response: 'second', updated_at })
    await environment.close()
  })

  for (const [what, payment] of [
    ['', {}],
    [', also with an id of its own', { payment_id: 'id' }],
  ] as const) {
    it(`gives no place whose holder has ended since it was read${what}`, async () => {
      const record = aRecord({ identity: 'i', ...payment })
      const environment = openDirectly()
      const records = recordsIn(environment)
      await setTimeout(2)
      const before = log.read('i')
      environment.transactionSync(
        () => void records.put('i', claimedBytes(aRecord({ identity: 'i', state: 'expired' }))),
      )
      const claim = log.claim(record)
      expect(await before).to.equal(undefined)
      expect((await claim).record.state).to.equal('expired')
      expect(await log.unfinished()).to.deep.equal([])
      expect(await log.read('another', 'id')).to.equal(undefined)
      await environment.close()
    })
  }

  it('gives one id to one of two payments, and one payment a place with the id or without', async () => {
    const id = { payment_id: 'id' }
    const payments = [aRecord({ identity: 'a', ...id }), aRecord({ identity: 'b', ...id })]
    const claims = await Promise.all(payments.map((record) => log.claim(record)))
    expect(claims.map(({ claimed }) => claimed)).to.deep.equal([true, false])
    expect(claims.map(({ record }) => record.identity)).to.deep.equal(['a', 'a'])
    const same = [aRecord({ identity: 'c', body: '1', payment_id: 'other' }), aRecord({ identity: 'c', body: '2' })]
    const ofSame = await Promise.all(same.map((record) => log.claim(record)))
    expect(ofSame.map(({ claimed, record }) => [claimed, record.body])).to.deep.equal([
      [true, '1'],
      [false, '1'],
    ])
    expect(await log.unfinished()).to.deep.equal(['a', 'c'])
  })

  for (const state of ['confirmed', 'rejected', 'expired'] as const) {
    const isPaid = state === 'confirmed'
    it(`${isPaid ? 'keeps the id of' : 'takes the id back from'} a payment that is ${state}`, async () => {
      const id = { payment_id: 'id' }
      await hold(log, aRecord({ identity: 'a', state, ...id }))
      const later = await log.claim(aRecord({ identity: 'b', ...id }))
      expect([later.claimed, later.record.identity]).to.deep.equal(isPaid ? [false, 'a'] : [true, 'b'])
      expect((await log.read('a'))?.state).to.equal(state)
    })
  }

  for (const length of [0, 1, 7, 8, 23, 24]) {
    it(`never returns a record of ${length} bytes, and its payer has not paid with it`, async () => {
      const environment = openDirectly()
      for (const name of [UNFINISHED_DATABASE, RECORDS_DATABASE])
        await environment.openDB<Buffer, string>({ name, encoding: 'binary' }).put(`${name}/1`, Buffer.alloc(length))
      await environment.close()
      await reopen()
      for (const name of [UNFINISHED_DATABASE, RECORDS_DATABASE]) {
        expect(await nameOf(log.read(`${name}/1`))).to.equal('CorruptRecord')
        expect(await log.hasPaid(name)).to.equal(false)
      }
    })
  }

  it('sells to nobody whose id points at a payment that is not there', async () => {
    const environment = openDirectly()
    const ids = environment.openDB<string, string>({ name: PAYMENT_IDS_DATABASE, encoding: 'json' })
    await ids.put('id', 'nobody')
    const claim = log.claim(aRecord({ payment_id: 'id' }))
    expect(await nameOf(claim)).to.equal('StoreError')
    expect(await log.unfinished()).to.deep.equal([])
    await environment.close()
  })

  it('never counts a record from where one of the same payment began that was removed', async () => {
    const environment = openDirectly()
    const unfinished = unfinishedIn(environment)
    const revisions = new Set<unknown>()
    for (const body of ['1', '2', '3']) {
      await log.claim(aRecord({ identity: 'i', body }))
      await setTimeout(2)
      revisions.add(unfinished.getEntry('i')?.version)
      await unfinished.remove('i')
    }
    expect(revisions.size).to.equal(3)
    await environment.close()
  })

  it('is heard when it is used after its end', async () => {
    const record = aRecord({})
    await log.claim(record)
    await log.close()
    expect(await nameOf(log.read(record.identity))).to.equal('StoreError')
    expect(await nameOf(log.claim(aRecord({ identity: 'late' })))).to.equal('StoreError')
    expect(await nameOf(log.advance(record, { state: 'settled', updated_at }))).to.equal('StoreError')
    log = openResponseLog(directory)
  })

  it('gives each place to one, and takes each step once, for two logs that all hurry at once', async () => {
    const other = openResponseLog(directory)
    const logs = [log, other, log, other]
    let [claims, steps, ends] = [0, 0, 0]
    async function hurry(identity: string, index: number): Promise<void> {
      // Every third with an id of its own, which takes another way to its place.
      const record = aRecord({ identity, ...(index % 3 === 0 && { payment_id: `id of ${identity}` }) })
      const claimed = await Promise.all(logs.map((each) => each.claim(record)))
      claims += claimed.filter((each) => each.claimed).length
      const settled = { state: 'settled', payment_response: 'x', updated_at } as const
      const stepped = await Promise.all(logs.map((each) => each.advance(record, settled)))
      steps += stepped.filter((each) => each !== undefined).length
      const last = { state: 'confirmed', updated_at } as const
      const ended = await Promise.all([
        ...logs.map((each) => each.advance({ ...record, state: 'settled' }, last)),
        ...logs.map(async (each) => void (claims += (await each.claim(record)).claimed ? 1 : 0)),
      ])
      ends += ended.filter((each) => each !== undefined).length
    }
    const COUNT = 600
    await Promise.all(Array.from({ length: COUNT }, (_, index) => hurry(`i${index}`, index)))
    expect({ claims, steps, ends }).to.deep.equal({ claims: COUNT, steps: COUNT, ends: COUNT })
    expect(await log.unfinished()).to.deep.equal([])
    await other.close()
  })

  it('remembers nothing but what is on disk, whatever a payment holds', async () => {
    const payment = { toJSON: 'x', constructor: { a: [1, '\u2028', null] }, 10: 1, 9: { é: 1e300 } }
    const record = aRecord({ payment })
    await log.claim(record)
    const claimed = await log.read(record.identity)
    await log.advance(record, { state: 'settled', payment_response: 'é', updated_at })
    const settled = await log.read(record.identity)
    expect(claimed).to.deep.equal(record)
    expect(settled).to.deep.equal({ ...record, state: 'settled', payment_response: 'é', updated_at })
    await reopen()
    expect(JSON.stringify(await log.read(record.identity))).to.equal(JSON.stringify(settled))
  })

  it('reads what another has written since it read or wrote last', async () => {
    // LMDB looks anew once the turn of events is over in which it looked last.
    const stateIn = (place: ResponseLog) => setTimeout(2).then(async () => (await place.read('i'))?.state)
    const [other, reader] = [openResponseLog(directory), openResponseLog(directory, { readOnly: true })]
    const record = aRecord({ identity: 'i' })
    await log.claim(record)
    expect([await stateIn(log), await stateIn(reader)]).to.deep.equal(['prepared', 'prepared'])
    await other.advance(record, { state: 'unknown', updated_at })
    expect([await stateIn(log), await stateIn(reader)]).to.deep.equal(['unknown', 'unknown'])
    await log.advance({ ...record, state: 'unknown' }, { state: 'settled', updated_at })
    expect([await stateIn(other), await stateIn(reader)]).to.deep.equal(['settled', 'settled'])
    for (const each of [other, reader]) await each.close()
  })

  it("never returns a record that stands in another's place", async () => {
    const [one, other] = [aRecord({}), aRecord({ identity: 'other', body: '{"other":true}' })]
    await log.claim(one)
    await log.claim(other)
    await log.close()
    const environment = openDirectly()
    const unfinished = unfinishedIn(environment)
    await unfinished.put(one.identity, copyOf(unfinished.getBinary(other.identity)), 1)
    await environment.close()
    log = openResponseLog(directory)
    expect(await nameOf(log.read(one.identity))).to.equal('CorruptRecord')
  })
})
