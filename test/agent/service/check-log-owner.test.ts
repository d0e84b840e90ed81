/** The check that a response log belongs to the data directory and to the configured receiver, for both logs. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { checkLogOwner, type AllowedChanges } from '../../../agent/service/check-log-owner.ts'
import { buildTerms } from '../../../agent/payment/terms.ts'
import { openPostgresResponseLog } from '../../../store/log/postgres/responses.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import { LogOwnership, ownerOf } from '../../../store/log/owner.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'
import { findPostgres, makeEmptyLog } from '../../support/postgres.ts'
import { makeRecord, RECEIVER } from '../../support/records.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { needProgram } from '../../support/programs.ts'

const OTHER_RECEIVER = `0x${'d4'.repeat(20)}` as const
const TERMS = buildTerms('testnet', RECEIVER, OPERATIONS)
const MARKER = 'response-log.json'

const ownerIn = async (log: ResponseLog) => (await ownerOf(log).read())?.value

/** Opens an empty log. */
const STORES: Record<string, () => Promise<ResponseLog>> = {
  LMDB: async () => new LmdbResponseLog(await makeTemporaryDirectory()),
  PostgreSQL: async () => openPostgresResponseLog({ url: await makeEmptyLog(), report: () => undefined }),
}

for (const [name, openEmpty] of Object.entries(STORES)) {
  describe(`the owner of a response log in ${name}`, function () {
    this.timeout(240_000)
    let log: ResponseLog
    let dataDirectory: string

    before(function () {
      if (name === 'PostgreSQL') needProgram(this, name, findPostgres())
    })
    beforeEach(async () => {
      log = await openEmpty()
      dataDirectory = await makeTemporaryDirectory()
    })
    afterEach(() => log.close())

    /** The result of a start: `done` or the line for the operator. */
    const check = (change: { terms?: typeof TERMS; allowed?: AllowedChanges; log?: ResponseLog } = {}) =>
      checkLogOwner({ log, dataDirectory, terms: TERMS, allowed: {}, ...change }).then(
        () => 'done',
        (error: unknown) => String(error),
      )
    const markedId = async () =>
      (JSON.parse(await readFile(join(dataDirectory, MARKER), 'utf8')) as { log_id: string }).log_id
    const markAs = (log_id: string) => writeFile(join(dataDirectory, MARKER), JSON.stringify({ log_id }))
    const OTHER_LOG = '00000000-0000-4000-8000-000000000001'

    it('[14.13, 14.14] is stored at the first start, with the id of the log in the data directory', async () => {
      expect(await check()).to.equal('done')
      const owner = await ownerIn(log)
      expect(owner).to.include({ network: TERMS.network, asset: TERMS.asset.toLowerCase(), pay_to: RECEIVER })
      expect(await markedId()).to.equal(owner?.log_id)
      expect(await check()).to.equal('done')
      // Another machine with the same log.
      dataDirectory = await makeTemporaryDirectory()
      expect(await check()).to.equal('done')
      expect(await ownerIn(log)).to.deep.equal(owner)
    })

    it('[14.13] refuses a new empty log in a directory that used another one, unless a new log is allowed', async () => {
      await markAs(OTHER_LOG)
      expect(await check()).to.match(/^StoreError: The response log is empty, .* --new-log$/)
      expect([await ownerIn(log), await markedId()]).to.deep.equal([undefined, OTHER_LOG])
      expect(await check({ allowed: { newReceiver: true } })).to.match(/--new-log$/)
      expect(await check({ allowed: { newLog: true } })).to.equal('done')
      expect(await markedId()).to.equal((await ownerIn(log))?.log_id)
      expect(await check()).to.equal('done')
    })

    it('[14.13] refuses the log of another directory, unless a new log is allowed', async () => {
      await check()
      const { log_id } = (await ownerIn(log))!
      await markAs(OTHER_LOG)
      expect(await check()).to.match(/^StoreError: DATA_DIR was used with another response log: .* --new-log$/)
      expect(await markedId()).to.equal(OTHER_LOG)
      expect(await check({ allowed: { newLog: true } })).to.equal('done')
      expect(await markedId()).to.equal(log_id)
    })

    it('refuses a damaged file of the directory, unless a new log is allowed', async () => {
      await writeFile(join(dataDirectory, MARKER), '{')
      expect(await check()).to.match(/response-log\.json: cannot be read; .*--new-log/)
      expect(await check({ allowed: { newLog: true } })).to.equal('done')
      expect(await markedId()).to.equal((await ownerIn(log))?.log_id)
    })

    it('[14.14] refuses another receiver, unless a new one is allowed', async () => {
      await check()
      const terms = buildTerms('testnet', OTHER_RECEIVER, OPERATIONS)
      expect(await check({ terms })).to.match(new RegExp(`receiver ${RECEIVER}: set PAY_TO .* --new-receiver$`))
      expect(await check({ terms, allowed: { newLog: true } })).to.match(/--new-receiver$/)
      expect((await ownerIn(log))?.pay_to).to.equal(RECEIVER)
      expect(await check({ terms, allowed: { newReceiver: true } })).to.equal('done')
      expect((await ownerIn(log))?.pay_to).to.equal(OTHER_RECEIVER)
      expect(await check()).to.match(/--new-receiver$/)
    })

    it('[14.14] refuses another receiver with a new log, and the new log keeps both', async () => {
      await check()
      await log.close()
      log = await openEmpty()
      const terms = buildTerms('testnet', OTHER_RECEIVER, OPERATIONS)
      expect(await check({ terms, allowed: { newLog: true } })).to.match(
        new RegExp(`DATA_DIR was used with the receiver ${RECEIVER}: .* --new-receiver$`),
      )
      expect(await ownerIn(log)).to.equal(undefined)
      expect(await check({ terms, allowed: { newLog: true, newReceiver: true } })).to.equal('done')
      expect((await ownerIn(log))?.receivers).to.deep.equal([RECEIVER, OTHER_RECEIVER])
      expect(await check({ terms })).to.equal('done')
    })

    it('[14.14] gives the receivers of a directory to the log that replaces its own', async () => {
      await check()
      const terms = buildTerms('testnet', OTHER_RECEIVER, OPERATIONS)
      await check({ terms, allowed: { newReceiver: true } })
      const used = dataDirectory
      await log.close()
      log = await openEmpty()
      dataDirectory = await makeTemporaryDirectory()
      await check({ terms })
      expect((await ownerIn(log))?.receivers).to.deep.equal([OTHER_RECEIVER])
      dataDirectory = used
      expect(await check({ terms, allowed: { newLog: true } })).to.equal('done')
      expect((await ownerIn(log))?.receivers).to.have.members([RECEIVER, OTHER_RECEIVER])
    })

    it('[14.14] refuses sales to a former receiver', async () => {
      await check()
      await log.claim(makeRecord({ identity: 'payer/1' }))
      await log.advance(makeRecord({ identity: 'payer/1' }), {
        state: 'expired',
        updated_at: '2026-01-01T00:00:00.000Z',
      })
      const running = new LogOwnership()
      expect((await running.claim(log, makeRecord({ identity: 'payer/1' }))).kind).to.equal('taken')
      await check({ terms: buildTerms('testnet', OTHER_RECEIVER, OPERATIONS), allowed: { newReceiver: true } })
      for (const claims of [running, running, new LogOwnership()]) {
        const failure = await claims.claim(log, makeRecord({ identity: 'payer/2' })).catch(String)
        expect(failure).to.match(/^StoreError: The receiver of the response log has changed/)
      }
      expect(await log.read('payer/2')).to.equal(undefined)
    })

    it('[14.14] sells on while another process adds a receiver of earlier', async () => {
      await check()
      const running = new LogOwnership()
      await running.claim(log, makeRecord({ identity: 'payer/1' }))
      const { value, revision } = (await ownerOf(log).read())!
      await ownerOf(log).compareAndSet({ ...value, receivers: [OTHER_RECEIVER, RECEIVER] }, revision)
      expect((await running.claim(log, makeRecord({ identity: 'payer/2' }))).kind).to.equal('claimed')
    })

    it('[14.14] refuses a new receiver while a payment has no final outcome', async () => {
      await check()
      const record = makeRecord({ state: 'settled' })
      await log.claim(record)
      const change = { terms: buildTerms('testnet', OTHER_RECEIVER, OPERATIONS), allowed: { newReceiver: true } }
      expect(await check(change)).to.match(/^StoreError: The receiver cannot change while 1 payments/)
      await log.advance(record, { state: 'confirmed', updated_at: record.updated_at })
      expect(await check(change)).to.equal('done')
    })

    it('[14.14] refuses another chain, whatever is allowed', async () => {
      await check()
      const terms = buildTerms('mainnet', RECEIVER, OPERATIONS)
      for (const allowed of [{}, { newLog: true, newReceiver: true }])
        expect(await check({ terms, allowed })).to.match(/^StoreError: The response log belongs to eip155:84532: /)
    })

    it('stores one owner if two processes start at the same time', async () => {
      const other = buildTerms('testnet', OTHER_RECEIVER, OPERATIONS)
      const results = await Promise.all([check(), check({ terms: other })])
      expect(results.filter((result) => result === 'done')).to.have.lengthOf(1)
      expect((await ownerIn(log))?.pay_to).to.equal(results[0] === 'done' ? RECEIVER : OTHER_RECEIVER)
    })

    it('does not replace an owner that has changed', async () => {
      await check()
      const { value, revision } = (await ownerOf(log).read())!
      const changed = await ownerOf(log).compareAndSet({ ...value, receivers: [RECEIVER, OTHER_RECEIVER] }, revision)
      // Another process has added a receiver meanwhile, which must not be lost.
      expect(await ownerOf(log).compareAndSet({ ...value, pay_to: OTHER_RECEIVER }, revision)).to.equal(undefined)
      expect(await ownerOf(log).read()).to.deep.equal(changed)
    })
  })
}
