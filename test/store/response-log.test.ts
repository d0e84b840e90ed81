/** What every response log promises, checked for LMDB, for PostgreSQL and for that of the tests. */
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { StoreError } from '../../store/files/environment.ts'
import type { Claim, ResponseRecord } from '../../store/log/record.ts'
import { isFinal, RECORD_STATES, mayFollow, type RecordState } from '../../store/log/states.ts'
import { openPostgresResponseLog } from '../../store/log/postgres/responses.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { updateDocument } from '../../store/log/documents.ts'
import { announceKey, readPublicKeys } from '../../store/log/public-keys.ts'
import { listOpen, type ResponseLog } from '../../store/log/responses.ts'
import { listUnrecorded, noteUnrecorded, pruneUnrecorded, UNRECORDED_MAX } from '../../store/log/unrecorded.ts'
import { MemoryStore, openMemoryLog } from '../support/memory-log.ts'
import { findPostgres, makeEmptyLog } from '../support/postgres.ts'
import { makeRecord, openIdentities, storeRecord } from '../support/records.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { needProgram } from '../support/programs.ts'

const updated_at = '2026-01-02T00:00:00.000Z'
const report = () => undefined

const DENIAL = { action: 'expired', time: '2000000001', final_block: '7', at: updated_at }

const recordIn = (claim: Claim) => (claim.kind === 'outdated' ? expect.fail('outdated') : claim.record)

/** Makes an empty store and returns a function that opens a log on it. */
type MakeStore = () => Promise<() => Promise<ResponseLog>>

/** LMDB reuses a read transaction for a millisecond, in which writes of another log are not seen. */
const endReadTransactions = () => setTimeout(2)

const STORES: Record<string, MakeStore> = {
  async memory() {
    const store = new MemoryStore()
    return async () => openMemoryLog(store)
  },
  async LMDB() {
    const directory = await makeTemporaryDirectory()
    return async () => new LmdbResponseLog(directory)
  },
  async PostgreSQL() {
    const url = await makeEmptyLog()
    return () => openPostgresResponseLog({ url, report })
  },
}

for (const [name, makeStore] of Object.entries(STORES)) {
  describe(`the response log in ${name}`, function () {
    this.timeout(240_000)
    let open: () => Promise<ResponseLog>
    let logs: ResponseLog[]
    let log: ResponseLog

    before(function () {
      if (name === 'PostgreSQL') needProgram(this, name, findPostgres())
    })
    beforeEach(async () => {
      const openStore = await makeStore()
      logs = []
      open = async () => {
        const opened = await openStore()
        logs.push(opened)
        return opened
      }
      log = await open()
    })
    afterEach(async () => {
      await Promise.all(logs.map((each) => each.close()))
    })

    const reopen = async () => {
      await log.close()
      logs = logs.filter((each) => each !== log)
      log = await open()
    }

    it('keeps a claimed record, byte for byte, after a restart', async () => {
      const record = makeRecord({ body: '{"legal_name":"TÚSÚR \\u2028 TEORANTA"}' })
      expect(await log.claim(record)).to.deep.equal({ kind: 'claimed', record })
      await reopen()
      expect(await log.read(record.identity)).to.deep.equal(record)
    })

    it('does not advance a record from an old version, nor a record that does not exist', async () => {
      const record = makeRecord({})
      await log.claim(record)
      await log.advance(record, { state: 'unknown', updated_at })
      expect(await log.advance(record, { state: 'unknown', updated_at })).to.equal(undefined)
      expect(await log.advance({ ...record, state: 'unknown', attempt: 2 }, { state: 'settled', updated_at })).to.equal(
        undefined,
      )
      expect(await log.advance({ ...record, identity: 'other' }, { state: 'unknown', updated_at })).to.equal(undefined)
      expect(await log.read('other')).to.equal(undefined)
    })

    for (const from of RECORD_STATES)
      it(`[5.7.4] allows no transitions from ${from} but those of the table`, async () => {
        for (const to of RECORD_STATES) {
          const record = makeRecord({ state: from, identity: `${from} ${to}` })
          await storeRecord(log, record)
          const outcome = await log.advance(record, { state: to, updated_at }).then(
            (moved) => moved?.state,
            () => 'rejects',
          )
          const isAllowed = mayFollow(from, to)
          expect(outcome, to).to.equal(isAllowed ? to : 'rejects')
          expect((await log.read(record.identity))?.state).to.equal(isAllowed ? to : from)
        }
      })

    for (const state of ['rejected', 'expired'] as const) {
      it(`[5.7.9] reopens a record that is ${state} as settled, once, and lists it as unfinished`, async () => {
        const record = makeRecord({ payment_id: 'payer/id-0123456789abcdef', state })
        await storeRecord(log, record)
        const settled = { state: 'settled', payment_response: 'e30=', updated_at } as const
        expect(await log.advance({ ...record, attempt: 2 }, settled)).to.equal(undefined)
        const [first, second] = await Promise.all([log.advance(record, settled), log.advance(record, settled)])
        expect([first, second]).to.deep.equal([{ ...record, ...settled }, undefined])
        await reopen()
        expect(await log.read('other', record.payment_id)).to.deep.equal({ ...record, ...settled })
        expect(await openIdentities(log)).to.deep.equal([record.identity])
        expect(await log.prune({ before: new Date('2100-01-01'), max: 9 })).to.equal(0)
        await log.advance({ ...record, state: 'settled' }, { state: 'confirmed', updated_at })
        expect((await log.read(record.identity))?.state).to.equal('confirmed')
      })
    }

    for (const order of ['before', 'beside'] as const)
      it(`keeps what a change sets if other processes note ${order} it when the record is due`, async () => {
        const record = makeRecord({})
        await log.claim(record)
        const others = await Promise.all([open(), open()])
        const note = { state: 'prepared', due_at: '2026-01-01T00:15:00.000Z', updated_at } as const
        const change = { state: 'unknown', reverts: 2, reported_transaction: '0xab', updated_at } as const
        await others[0]?.read(record.identity)
        const noted = Promise.all(others.map((each) => each.advance(record, note)))
        if (order === 'before') await noted
        const changed = await log.advance(record, change)
        await noted
        expect(changed).to.deep.include({ ...record, ...change })
        await reopen()
        expect(await log.read(record.identity)).to.deep.equal(changed)
      })

    const addReceipt = (record: ResponseRecord, receipt: string) =>
      log.advance(record, { state: record.state, receipt, updated_at: record.updated_at })

    for (const state of ['settled', 'confirmed'] as const) {
      it(`[5.9.3] adds one receipt to a ${state} record, which later transitions keep`, async () => {
        const record = makeRecord({ state, payment_response: 'e30=' })
        await storeRecord(log, record)
        expect(await addReceipt({ ...record, attempt: 2 }, 'receipt')).to.equal(undefined)
        const added = await Promise.all(['one', 'other'].map((receipt) => addReceipt(record, receipt)))
        const winner = added.find((each) => each !== undefined)
        expect(added.filter((each) => each !== undefined)).to.have.length(1)
        const stored = await log.read(record.identity)
        expect(stored?.receipt).to.be.oneOf(['one', 'other']).and.to.equal(winner?.receipt)
        expect(await addReceipt(record, 'late')).to.equal(undefined)
        await reopen()
        expect(await log.read(record.identity)).to.deep.equal(stored)
        expect(await openIdentities(log)).to.have.length(state === 'settled' ? 1 : 0)
        if (state === 'settled' && stored) {
          // The reader of the version without a receipt has signed another one.
          expect(await log.advance(record, { state: 'confirmed', receipt: 'another', updated_at })).to.equal(undefined)
          await log.advance(stored, { state: 'confirmed', updated_at })
        }
        expect((await log.read(record.identity))?.receipt).to.equal(stored?.receipt)
        expect(await log.prune({ before: new Date('2100-01-01'), max: 9 })).to.equal(1)
      })
    }

    it('[5.9.3] adds no receipt to a record that is missing or not paid', async () => {
      const record = makeRecord({ state: 'unknown' })
      await log.claim(record)
      expect(await addReceipt(record, 'receipt').catch((error: unknown) => error)).to.be.instanceOf(Error)
      expect(await addReceipt({ ...record, identity: 'other', state: 'settled' }, 'receipt')).to.equal(undefined)
      expect(await addReceipt({ ...record, state: 'settled' }, 'receipt')).to.equal(undefined)
      expect(await log.read(record.identity)).to.deep.equal(record)
    })

    const notes = { due_at: '2026-01-01T00:15:00.000Z', first_denial: DENIAL }

    it('keeps notes of a record, unless it is final', async () => {
      const outcomes = new Map<ResponseRecord, unknown>()
      for (const state of RECORD_STATES) {
        const record = makeRecord({ state, identity: state })
        await storeRecord(log, record)
        const change = { state, updated_at: record.updated_at, ...notes }
        outcomes.set(record, await log.advance(record, change).catch(() => 'refused'))
      }
      await reopen()
      for (const [record, outcome] of outcomes) {
        expect(outcome).to.deep.equal(isFinal(record.state) ? 'refused' : { ...record, ...notes })
        expect(await log.read(record.identity)).to.deep.equal(isFinal(record.state) ? record : outcome)
      }
    })

    it('drops the notes of a record when its state changes, and a denial when it is contradicted', async () => {
      const record = makeRecord({ state: 'unknown' })
      await log.claim(record)
      await log.advance(record, { state: 'unknown', updated_at, ...notes })
      await log.advance(record, { state: 'unknown', updated_at, first_denial: undefined })
      await reopen()
      expect(await log.read(record.identity)).to.deep.equal({ ...record, updated_at, due_at: notes.due_at })
      await log.advance(record, { state: 'unknown', updated_at, ...notes })
      await log.advance(record, { state: 'settled', updated_at })
      expect(await log.read(record.identity)).to.deep.equal({ ...record, updated_at, state: 'settled' })
    })

    it('lists open records in the order in which they are due, from their claim on or from the time that they were given', async () => {
      const due = async (before: string, max = 9) =>
        (await log.list({ kind: 'open', dueBefore: new Date(before), max })).identities
      const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`
      const states = ['settled', 'unknown', 'prepared', 'refused'] as const
      const records = states.map((state, index) =>
        makeRecord({ state, identity: `i${index}`, prepared_at: at(9 - index) }),
      )
      for (const record of records) await log.claim(record)
      expect(await due(at(9))).to.deep.equal(['i3', 'i2', 'i1'])
      expect(await due(at(9), 2)).to.deep.equal(['i3', 'i2'])
      const [settled, unknown, prepared] = records as [ResponseRecord, ResponseRecord, ResponseRecord]
      await log.advance(settled, { state: 'settled', updated_at, due_at: at(1) })
      await log.advance(unknown, { state: 'unknown', updated_at, due_at: '2026-02-01T00:00:00.000Z' })
      expect(await due('2026-01-31T23:30:00.000Z')).to.deep.equal(['i0', 'i3', 'i2'])
      await reopen()
      await log.advance(prepared, { state: 'expired', updated_at })
      expect(await due('2026-03-01T00:00:00.000Z')).to.deep.equal(['i0', 'i3', 'i1'])
      const late = await log.list({ kind: 'open', dueAfter: new Date('2026-01-02'), max: 9 })
      expect(late.identities).to.deep.equal(['i1'])
      expect(await openIdentities(log)).to.deep.equal(['i0', 'i3', 'i1'])
    })

    for (const max of [1, 2, 3, 9])
      it(`lists open records in pages of ${max}, each record once, also if the one before a page is removed`, async () => {
        const states = RECORD_STATES.filter((state) => !isFinal(state))
        const identities = states.map((state) => `net/usdc/payer/${state} é`)
        for (const [index, state] of states.entries())
          await log.claim(
            makeRecord({ state, identity: identities[index]!, prepared_at: `2026-01-01T00:00:0${index}.000Z` }),
          )
        const listed: string[] = []
        for await (const identity of listOpen(log, max)) {
          listed.push(identity)
          if (identity !== identities[0]) continue
          await log.advance((await log.read(identity))!, { state: 'expired', updated_at })
          await endReadTransactions()
        }
        expect(listed).to.deep.equal(identities)
      })

    it('lists equally due records once', async () => {
      const identities = ['c', 'a', 'b', 'd']
      for (const identity of identities) await log.claim(makeRecord({ identity }))
      const listed: string[] = []
      for await (const identity of listOpen(log, 1)) listed.push(identity)
      expect(listed).to.have.lengthOf(4).and.to.have.members(identities)
    })

    it('lists the records that became final last, the last one first', async () => {
      for (const [index, state] of (['rejected', 'confirmed', 'settled', 'expired'] as const).entries())
        await storeRecord(
          log,
          makeRecord({ state, identity: state, updated_at: `2026-01-0${index + 1}T00:00:00.000Z` }),
        )
      expect((await log.list({ kind: 'final', max: 2 })).identities).to.deep.equal(['expired', 'confirmed'])
      expect((await log.list({ kind: 'final', max: 9 })).identities).to.deep.equal(['expired', 'confirmed', 'rejected'])
    })

    it('counts the records of each state that is not final, exactly', async () => {
      const counted = async () => Object.fromEntries(await log.count())
      const none = { prepared: 0, settling: 0, unknown: 0, settled: 0, refused: 0 }
      expect(await counted()).to.deep.equal(none)
      for (const state of RECORD_STATES) {
        for (const index of [1, 2]) await storeRecord(log, makeRecord({ state, identity: `${state}/${index}` }))
      }
      expect(await counted()).to.deep.equal({ prepared: 2, settling: 2, unknown: 2, settled: 2, refused: 2 })
      const change = { updated_at, payment_response: 'e30=' } as const
      await Promise.all([
        log.advance(makeRecord({ identity: 'prepared/1' }), { state: 'settled', ...change }),
        log.advance(makeRecord({ identity: 'expired/1', state: 'expired' }), { state: 'settled', ...change }),
        log.advance(makeRecord({ identity: 'settled/1', state: 'settled' }), { state: 'confirmed', ...change }),
      ])
      expect(await counted()).to.deep.equal({ prepared: 1, settling: 2, unknown: 2, settled: 3, refused: 2 })
    })

    it('writes a document only from the revision that is stored, with the time of the log', async () => {
      const other = await open()
      const document = log.document<string[]>('a')
      expect(await document.read()).to.equal(undefined)
      expect(await document.compareAndSet(['early'], 'none')).to.equal(undefined)
      const both = await Promise.all([log, other].map((each) => each.document('a').compareAndSet(['é'], undefined)))
      const first = both.find((each) => each !== undefined)
      expect(both.filter((each) => each !== undefined)).to.have.lengthOf(1)
      expect(first?.value).to.deep.equal(['é'])
      expect(Math.abs(Date.parse(first?.written_at ?? '') - Date.now())).to.be.below(60_000)
      await reopen()
      expect(await log.document('a').read()).to.deep.equal(first)
      const second = await log.document('a').compareAndSet(['é', 'x'], first?.revision)
      expect(second?.revision).not.to.equal(first?.revision)
      for (const revision of [first?.revision, undefined])
        expect(await log.document('a').compareAndSet([], revision)).to.equal(undefined)
      await endReadTransactions()
      expect(await other.document('a').read()).to.deep.equal(second)
      expect(await log.document('b').read()).to.equal(undefined)
    })

    it('loses no update of a document by two logs', async () => {
      const both = [log, await open()]
      const add = (each: ResponseLog, index: number) =>
        updateDocument(each.document<number[]>('numbers'), (stored) => [...(stored?.value ?? []), index])
      await Promise.all(Array.from({ length: 10 }, (_, index) => add(both[index % 2]!, index)))
      await endReadTransactions()
      const numbers = (await log.document<number[]>('numbers').read())?.value
      expect(numbers?.toSorted()).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    })

    it('claims a payment only while a document has the revision that was compared', async () => {
      const claim = async (revision: string | undefined) =>
        (await log.claim(makeRecord({ identity: 'i' }), { document: 'a', revision })).kind
      const first = await log.document('a').compareAndSet(1, undefined)
      const second = await log.document('a').compareAndSet(2, first?.revision)
      for (const revision of [undefined, first?.revision]) expect(await claim(revision)).to.equal('outdated')
      expect(await log.read('i')).to.equal(undefined)
      expect(await claim(second?.revision)).to.equal('claimed')
      expect(await claim(second?.revision)).to.equal('taken')
      expect((await log.claim(makeRecord({ identity: 'j' }), { document: 'b', revision: undefined })).kind).to.equal(
        'claimed',
      )
    })

    it('keeps each public key once, with the time of its first announcement, and marks it as compromised for ever', async () => {
      const other = await open()
      const key = (kid: string) => ({ kid, jwk: { kty: 'EC', x: kid }, compromised_at: null })
      expect(await readPublicKeys(log)).to.deep.equal([])
      await announceKey(log, key('a'))
      const [first] = await readPublicKeys(log)
      expect(first?.announced_at).to.match(/^\d{4}-.*Z$/)
      await Promise.all([log, other].map((each) => announceKey(each, key('b'))))
      await announceKey(other, { ...key('a'), jwk: { x: 'another' } })
      await reopen()
      const keys = await readPublicKeys(log)
      expect(keys.map(({ kid, jwk, compromised_at }) => ({ kid, jwk, compromised_at }))).to.deep.equal(
        ['a', 'b'].map(key),
      )
      expect(keys[0]).to.deep.equal(first)
      await announceKey(log, { ...key('a'), compromised_at: updated_at })
      await announceKey(log, { ...key('a'), compromised_at: '2026-02-01T00:00:00.000Z' })
      await announceKey(log, key('a'))
      expect(await readPublicKeys(log)).to.deep.equal([{ ...first, compromised_at: updated_at }, keys[1]])
    })

    it('[5.7.12] lists a payment without a record once, also after a restart, and removes it when it is old', async () => {
      const payment = { identity: 'a', transaction: `0x${'ab'.repeat(32)}`, found_at: updated_at }
      const noted = await Promise.all([noteUnrecorded(log, payment), noteUnrecorded(log, payment)])
      expect(noted).to.have.members([true, false])
      const later = { ...payment, identity: 'b', found_at: '2026-01-03T00:00:00.000Z' }
      await noteUnrecorded(log, later)
      await reopen()
      expect(await listUnrecorded(log)).to.deep.equal([payment, later])
      expect(await log.read('a')).to.equal(undefined)
      await pruneUnrecorded(log, new Date(updated_at))
      expect(await listUnrecorded(log)).to.have.lengthOf(2)
      await pruneUnrecorded(log, new Date('2026-01-02T00:00:00.001Z'))
      expect(await listUnrecorded(log)).to.deep.equal([later])
    })

    it(`lists at most ${UNRECORDED_MAX} payments without a record`, async () => {
      const payment = (identity: string) => ({ identity, transaction: '0x', found_at: updated_at })
      const payments = Array.from({ length: UNRECORDED_MAX - 1 }, (_, index) => payment(String(index)))
      await log.document('unrecorded').compareAndSet(payments, undefined)
      expect(await noteUnrecorded(log, payment('last'))).to.equal(true)
      const surplus = await noteUnrecorded(log, payment('one more')).catch((cause: unknown) => cause)
      expect(surplus).to.be.instanceOf(StoreError)
      expect(await noteUnrecorded(log, payment('last'))).to.equal(false)
      expect(await listUnrecorded(log)).to.have.lengthOf(UNRECORDED_MAX)
    })

    const begin = (identity: string, state: RecordState = 'prepared') =>
      makeRecord({ identity, state, prepared_at: new Date().toISOString(), updated_at: new Date().toISOString() })

    it('claims a payment once, and reads it again', async () => {
      const record = begin('payer/1')
      for (const kind of ['claimed', 'taken', 'taken']) expect((await log.claim(record)).kind).to.equal(kind)
      expect((await log.read('payer/1'))?.identity).to.equal('payer/1')
    })

    it('lets one of two payments with the same payment id succeed, and one of two claims with the same identity', async () => {
      const claims = [
        makeRecord({ identity: 'a', body: '1', payment_id: 'payer/id' }),
        makeRecord({ identity: 'b', body: '2', payment_id: 'payer/id' }),
        makeRecord({ identity: 'a', body: '3', payment_id: 'payer/id' }),
      ]
      const results = await Promise.all(claims.map((record) => log.claim(record)))
      expect(results.filter(({ kind }) => kind === 'claimed')).to.have.lengthOf(1)
      expect(new Set(results.map((each) => recordIn(each).body)).size).to.equal(1)
      expect(await openIdentities(log)).to.deep.equal([recordIn(results[0]!).identity])
    })

    it('reads the record of the identity even if another record has the payment id', async () => {
      await log.claim(makeRecord({ identity: 'z' }))
      await log.claim(makeRecord({ identity: 'a', payment_id: 'payer/id' }))
      expect((await log.read('z', 'payer/id'))?.identity).to.equal('z')
    })

    it('[6.2.5] counts the unknown payments of one payer', async () => {
      for (const [identity, state] of [
        ['net/usdc/a/1', 'unknown'],
        ['net/usdc/a/2', 'unknown'],
        ['net/usdc/a/3', 'settled'],
        ['net/usdc/a/4', 'expired'],
        ['net/usdc/b/1', 'unknown'],
      ] as const)
        await storeRecord(log, makeRecord({ identity, state, payment_hash: identity }))
      const unknown = async (prefix: string) => [...(await log.count({ states: ['unknown'], prefix }))]
      expect(await unknown('net/usdc/a/')).to.deep.equal([['unknown', 2]])
      expect(await unknown('net/usdc/c/')).to.deep.equal([['unknown', 0]])
      expect((await log.count({ prefix: 'net/usdc/a/' })).get('settled')).to.equal(1)
    })

    it('gives a payment id back to a refused payment whose transfer appears, unless another payment has it', async () => {
      for (const isTaken of [false, true]) {
        const payment_id = `payer/id-${isTaken}`
        const record = makeRecord({ identity: `refused ${isTaken}`, payment_id, state: 'unknown' })
        await storeRecord(log, record)
        await log.advance(record, { state: 'refused', updated_at })
        const other = makeRecord({ identity: `other ${isTaken}`, payment_id })
        if (isTaken) await log.claim(other)
        await log.advance({ ...record, state: 'refused' }, { state: 'settled', payment_response: 'e30=', updated_at })
        expect((await log.read('none', payment_id))?.identity).to.equal(isTaken ? other.identity : record.identity)
        await log.advance({ ...record, state: 'settled' }, { state: 'confirmed', updated_at })
        expect((await log.read('none', payment_id))?.identity).to.equal(isTaken ? other.identity : record.identity)
      }
    })

    it('frees the payment id of a payment that has ended without a transfer', async () => {
      for (const state of RECORD_STATES.filter((each) => isFinal(each) || each === 'refused')) {
        const payment_id = `payer/${state}`
        const isFreed = state !== 'confirmed'
        await storeRecord(log, makeRecord({ identity: `1 ${state}`, payment_id, state }))
        const second = makeRecord({ identity: `2 ${state}`, payment_id })
        expect((await log.claim(second)).kind, state).to.equal(isFreed ? 'claimed' : 'taken')
        expect((await log.read('none', payment_id))?.identity).to.equal(`${isFreed ? 2 : 1} ${state}`)
      }
    })

    it('claims each payment once and makes each transition once, with concurrent calls of two logs', async () => {
      const other = await open()
      const both = [log, other, log, other]
      let [claims, steps, ends] = [0, 0, 0]
      async function sell(identity: string, index: number): Promise<void> {
        // Every third payment has a payment id, which is checked separately.
        const record = makeRecord({ identity, ...(index % 3 === 0 && { payment_id: `id of ${identity}` }) })
        const claimed = await Promise.all(both.map((each, body) => each.claim({ ...record, body: `{"log":${body}}` })))
        expect(new Set(claimed.map((each) => recordIn(each).body)).size).to.equal(1)
        claims += claimed.filter(({ kind }) => kind === 'claimed').length
        const settled = { state: 'settled', payment_response: 'x', updated_at } as const
        const stepped = await Promise.all(both.map((each) => each.advance(record, settled)))
        steps += stepped.filter((each) => each !== undefined).length
        const last = { state: 'confirmed', updated_at } as const
        const ended = await Promise.all([
          ...both.map((each) => each.advance({ ...record, state: 'settled' }, last)),
          ...both.map(async (each) => {
            if ((await each.claim(record)).kind === 'claimed') claims += 1
          }),
        ])
        ends += ended.filter((each) => each !== undefined).length
      }
      const COUNT = 200
      await Promise.all(Array.from({ length: COUNT }, (_, index) => sell(`i${index}`, index)))
      expect({ claims, steps, ends }).to.deep.equal({ claims: COUNT, steps: COUNT, ends: COUNT })
      expect(await openIdentities(log)).to.deep.equal([])
    })

    describe('[5.6.4] pruning', () => {
      const ended = (index: number, state: RecordState, day: number) =>
        makeRecord({
          state,
          identity: `i${index}`,
          updated_at: `2026-01-${String(day).padStart(2, '0')}T00:00:00.000Z`,
        })
      const before = new Date('2026-01-10T00:00:00.000Z')
      const remaining = async (count: number) => {
        const records = await Promise.all(Array.from({ length: count }, (_, index) => log.read(`i${index}`)))
        return records.flatMap((record) => (record ? [record.identity] : []))
      }

      it('removes records that became final before the time, oldest first, at most the requested number', async () => {
        const days = [9, 1, 11, 10, 5]
        for (const [index, day] of days.entries()) await storeRecord(log, ended(index, 'confirmed', day))
        await reopen()
        expect(await log.prune({ before, max: 2 })).to.equal(2)
        expect(await remaining(5)).to.deep.equal(['i0', 'i2', 'i3'])
        expect(await log.prune({ before, max: 2 })).to.equal(1)
        expect(await log.prune({ before, max: 2 })).to.equal(0)
        expect(await remaining(5)).to.deep.equal(['i2', 'i3'])
      })

      it('removes old records only if they are final', async () => {
        for (const [index, state] of RECORD_STATES.entries()) await storeRecord(log, ended(index, state, 1))
        const kept = RECORD_STATES.flatMap((state, index) => (isFinal(state) ? [] : [`i${index}`]))
        expect(await log.prune({ before, max: 10 })).to.equal(RECORD_STATES.length - kept.length)
        expect(await remaining(RECORD_STATES.length)).to.deep.equal(kept)
        expect(await openIdentities(log)).to.have.members(kept)
      })
    })
  })
}
