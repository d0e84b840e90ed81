/** The check that a response log belongs to the data directory and to the configured receiver, for both logs. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { checkLogOwner, type AllowedChanges } from '../../agent/check-log-owner.ts'
import { buildTerms } from '../../agent/payment/terms.ts'
import type { OwnedLog } from '../../store/log/log-owner.ts'
import { openPostgresResponseLog } from '../../store/log/postgres/responses.ts'
import { openResponseLog, type ResponseLog } from '../../store/log/responses.ts'
import { findPostgres, makeEmptyLog } from '../support/postgres.ts'
import { BUYER, makeRecord, RECEIVER, storeRecord } from '../support/records.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'

type Log = ResponseLog & OwnedLog

const OTHER_RECEIVER = `0x${'d4'.repeat(20)}` as const
const TERMS = buildTerms('testnet', RECEIVER)
const MARKER = 'response-log.json'

/** Opens an empty log. */
const STORES: Record<string, () => Promise<Log>> = {
  LMDB: async () => openResponseLog(await makeTemporaryDirectory()),
  PostgreSQL: async () =>
    openPostgresResponseLog({ url: await makeEmptyLog(), salesPerMinute: 100, report: () => undefined }),
}

for (const [name, openEmpty] of Object.entries(STORES)) {
  describe(`the owner of a response log in ${name}`, function () {
    this.timeout(60_000)
    let log: Log
    let dataDirectory: string

    before(function () {
      if (name === 'PostgreSQL' && findPostgres() === undefined) this.skip()
    })
    beforeEach(async () => {
      log = await openEmpty()
      dataDirectory = await makeTemporaryDirectory()
    })
    afterEach(() => log.close())

    /** The result of a start: `done` or the line for the operator. */
    const check = (change: { terms?: typeof TERMS; allowed?: AllowedChanges; log?: Log } = {}) =>
      checkLogOwner({ log, dataDirectory, terms: TERMS, allowed: {}, ...change }).then(
        () => 'done',
        (error: unknown) => String(error),
      )
    const markedId = async () =>
      (JSON.parse(await readFile(join(dataDirectory, MARKER), 'utf8')) as { log_id: string }).log_id
    const markAs = (log_id: string) => writeFile(join(dataDirectory, MARKER), JSON.stringify({ log_id }))
    const OTHER_LOG = '00000000-0000-4000-8000-000000000001'

    it('[14.14] is stored at the first start, with the id of the log in the data directory', async () => {
      expect(await check()).to.equal('done')
      const owner = await log.owner()
      expect(owner).to.include({ network: TERMS.network, asset: TERMS.asset.toLowerCase(), pay_to: RECEIVER })
      expect(await markedId()).to.equal(owner?.log_id)
      expect(await check()).to.equal('done')
      expect(await log.owner()).to.deep.equal(owner)
    })

    it('[14.13] refuses a new empty log in a directory that used another one, unless a new log is allowed', async () => {
      await markAs(OTHER_LOG)
      expect(await check()).to.match(/^StoreError: The response log is empty, .* --new-log$/)
      expect([await log.owner(), await markedId()]).to.deep.equal([undefined, OTHER_LOG])
      expect(await check({ allowed: { newReceiver: true } })).to.match(/--new-log$/)
      expect(await check({ allowed: { newLog: true } })).to.equal('done')
      expect(await markedId()).to.equal((await log.owner())?.log_id)
      expect(await check()).to.equal('done')
    })

    it('[14.13] refuses the log of another directory, unless a new log is allowed', async () => {
      await check()
      const { log_id } = (await log.owner())!
      await markAs(OTHER_LOG)
      expect(await check()).to.match(/^StoreError: DATA_DIR was used with another response log: .* --new-log$/)
      expect(await markedId()).to.equal(OTHER_LOG)
      expect(await check({ allowed: { newLog: true } })).to.equal('done')
      expect(await markedId()).to.equal(log_id)
    })

    it('[14.13] accepts its log without sales, and the log of another machine in a new directory', async () => {
      await check()
      expect(await log.isEmpty()).to.equal(true)
      expect(await check()).to.equal('done')
      dataDirectory = await makeTemporaryDirectory()
      expect(await check()).to.equal('done')
    })

    it('gives a log of an earlier version that has records the id that the directory names', async () => {
      await storeRecord(log, makeRecord({ state: 'confirmed' }))
      expect(await log.isEmpty()).to.equal(false)
      await markAs(OTHER_LOG)
      expect(await check()).to.equal('done')
      expect((await log.owner())?.log_id).to.equal(OTHER_LOG)
    })

    it('[14.14] refuses a receiver that the records of an earlier version do not have', async () => {
      const terms = buildTerms('testnet', OTHER_RECEIVER)
      await storeRecord(log, makeRecord({ state: 'confirmed' }))
      expect(await check({ terms })).to.match(new RegExp(`receiver ${RECEIVER}: set PAY_TO .* --new-receiver$`))
      expect(await check({ terms: buildTerms('mainnet', RECEIVER) })).to.match(/belongs to eip155:84532: /)
      expect(await check({ terms, allowed: { newLog: true } })).to.match(/--new-receiver$/)
      expect(await check()).to.equal('done')
      expect(await check({ terms, allowed: { newReceiver: true } })).to.equal('done')
    })

    it('[14.14] compares PAY_TO with the receiver of the newest sale if an earlier version wrote the log', async () => {
      const terms = buildTerms('testnet', OTHER_RECEIVER)
      const record = (number: number, payTo: string) => {
        const identity = `${TERMS.network}/${TERMS.asset}/${BUYER}/0x${String(number).repeat(64)}`.toLowerCase()
        const requirements = { ...makeRecord({}).requirements, payTo }
        return makeRecord({
          identity,
          requirements,
          state: 'confirmed',
          prepared_at: `2026-01-0${number}T00:00:00.000Z`,
          updated_at: `2026-01-0${number}T00:00:00.000Z`,
        })
      }
      await storeRecord(log, record(2, RECEIVER))
      await storeRecord(log, record(3, OTHER_RECEIVER))
      await storeRecord(log, record(1, RECEIVER))
      expect(await check()).to.match(new RegExp(`receiver ${OTHER_RECEIVER}: `))
      expect(await check({ terms })).to.equal('done')
    })

    for (const [openDay, receiver] of [
      [2, RECEIVER],
      [4, OTHER_RECEIVER],
    ] as const)
      it(`[14.14] compares PAY_TO with the newest of two sales: one open since day ${openDay}, one confirmed on day 3`, async () => {
        const requirements = { ...makeRecord({}).requirements, payTo: OTHER_RECEIVER }
        const saleOf = (day: number) => ({ prepared_at: `2026-01-0${day}T00:00:00.000Z` })
        await storeRecord(log, makeRecord({ ...saleOf(openDay), requirements, state: 'settled' }))
        const identity = `${TERMS.network}/0x1/${BUYER}/0x2`
        await storeRecord(log, makeRecord({ ...saleOf(3), identity, state: 'confirmed' }))
        await check()
        expect((await log.owner())?.pay_to).to.equal(receiver)
      })

    it('refuses a damaged file of the directory, unless a new log is allowed', async () => {
      await writeFile(join(dataDirectory, MARKER), '{')
      expect(await check()).to.match(/response-log\.json: cannot be read; .*--new-log/)
      expect(await check({ allowed: { newLog: true } })).to.equal('done')
      expect(await markedId()).to.equal((await log.owner())?.log_id)
    })

    it('[14.14] refuses another receiver, unless a new one is allowed', async () => {
      await check()
      const terms = buildTerms('testnet', OTHER_RECEIVER)
      expect(await check({ terms })).to.match(new RegExp(`receiver ${RECEIVER}: set PAY_TO .* --new-receiver$`))
      expect(await check({ terms, allowed: { newLog: true } })).to.match(/--new-receiver$/)
      expect((await log.owner())?.pay_to).to.equal(RECEIVER)
      expect(await check({ terms, allowed: { newReceiver: true } })).to.equal('done')
      expect((await log.owner())?.pay_to).to.equal(OTHER_RECEIVER)
      expect(await check()).to.match(/--new-receiver$/)
    })

    it('[14.14] accepts its receiver in another case', async () => {
      await check()
      expect(await check({ terms: { ...TERMS, payTo: RECEIVER.toUpperCase().replace('0X', '0x') } })).to.equal('done')
    })

    it('[14.14] refuses a new receiver while a payment has no final outcome', async () => {
      await check()
      const record = makeRecord({ state: 'settled' })
      await log.claim(record)
      const change = { terms: buildTerms('testnet', OTHER_RECEIVER), allowed: { newReceiver: true } }
      expect(await check(change)).to.match(/^StoreError: The receiver cannot change while 1 payments/)
      await log.advance(record, { state: 'confirmed', updated_at: record.updated_at })
      expect(await check(change)).to.equal('done')
    })

    it('[14.14] refuses another chain, whatever is allowed', async () => {
      await check()
      const terms = buildTerms('mainnet', RECEIVER)
      for (const allowed of [{}, { newLog: true, newReceiver: true }])
        expect(await check({ terms, allowed })).to.match(/^StoreError: The response log belongs to eip155:84532: /)
    })

    it('stores one owner if two processes start at the same time', async () => {
      const other = buildTerms('testnet', OTHER_RECEIVER)
      const results = await Promise.all([check(), check({ terms: other })])
      expect(results.filter((result) => result === 'done')).to.have.lengthOf(1)
      expect((await log.owner())?.pay_to).to.equal(results[0] === 'done' ? RECEIVER : OTHER_RECEIVER)
    })

    it('does not replace an owner that has changed', async () => {
      await check()
      const owner = (await log.owner())!
      const next = { ...owner, pay_to: OTHER_RECEIVER }
      expect(await log.setOwner(next, { ...owner, pay_to: `0x${'e5'.repeat(20)}` })).to.deep.equal(owner)
      expect(await log.setOwner(next, owner)).to.deep.equal(next)
      expect(await log.owner()).to.deep.equal(next)
    })
  })
}
