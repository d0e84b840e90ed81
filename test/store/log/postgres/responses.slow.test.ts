/** The response log in PostgreSQL when connections, the server or the schema fail. */
import { createServer, type AddressInfo } from 'node:net'
import { expect } from 'chai'
import { describeCause } from '../../../../agent/service/log.ts'
import { openPostgresResponseLog } from '../../../../store/log/postgres/responses.ts'
import { migrateDatabase, SCHEMA_VERSION } from '../../../../store/log/postgres/schema.ts'
import type { ResponseLog } from '../../../../store/log/responses.ts'
import { findPostgres, makeEmptyLog, startPostgres, type PostgresServer } from '../../../support/postgres.ts'
import { withPool } from '../../../../store/log/postgres/connection.ts'
import { startPostgresProxy, type LostPart, type PostgresProxy } from '../../../support/postgres-proxy.ts'
import { makeRecord } from '../../../support/records.ts'
import { failureOf } from '../../../support/failure.ts'
import { needProgram } from '../../../support/programs.ts'

const updated_at = '2026-01-02T00:00:00.000Z'
const open = (url: string) => openPostgresResponseLog({ url, report: () => undefined })
/** A failed statement is repeated twice. */
const REPETITIONS = 2

describe('the response log in PostgreSQL', function () {
  this.timeout(180_000)
  let url: string

  before(function () {
    needProgram(this, 'PostgreSQL', findPostgres())
  })
  beforeEach(async () => {
    url = await makeEmptyLog()
  })

  describe('when a connection is lost', () => {
    let proxy: PostgresProxy
    let log: ResponseLog

    beforeEach(async () => {
      proxy = await startPostgresProxy(url)
      log = await open(proxy.url)
    })
    afterEach(async () => {
      await log.close()
      await proxy.close()
    })

    for (const part of ['request', 'reply'] as const satisfies LostPart[]) {
      for (let times = 1; times <= REPETITIONS; times += 1) {
        it(`claims once when the ${part} is lost ${times} times`, async () => {
          const record = makeRecord({ payment_id: 'payer/id' })
          proxy.lose(part, 'insert into responses', times)
          expect(await log.claim(record)).to.deep.equal({ kind: 'claimed', record })
          expect(proxy.left()).to.equal(0)
          expect(await log.claim(record)).to.deep.equal({ kind: 'taken', record })
        })

        it(`advances once when the ${part} is lost ${times} times`, async () => {
          const record = makeRecord({})
          await log.claim(record)
          proxy.lose(part, 'update responses', times)
          const settled = await log.advance(record, { state: 'settled', payment_response: 'e30=', updated_at })
          expect(settled?.state).to.equal('settled')
          expect(proxy.left()).to.equal(0)
          expect(await log.read(record.identity)).to.deep.equal(settled)
        })

        it(`reads when the ${part} is lost ${times} times`, async () => {
          const record = makeRecord({})
          await log.claim(record)
          proxy.lose(part, 'select', times)
          expect(await log.read(record.identity)).to.deep.equal(record)
        })
      }

      it(`rejects when the ${part} is lost more often, and the record can then be claimed or read`, async () => {
        const record = makeRecord({})
        proxy.lose(part, 'insert into responses', REPETITIONS + 1)
        expect(await failureOf(log.claim(record))).to.match(
          /^StoreError: The database of the response log cannot be used: /,
        )
        expect(proxy.left()).to.equal(0)
        // If only the reply was lost, the record was written, and the next claim finds it.
        expect(await log.claim(record)).to.deep.equal({
          kind: part === 'request' ? 'claimed' : 'taken',
          record,
        })
      })
    }

    it('does not report the write of another log as its own', async () => {
      const record = makeRecord({})
      await log.claim(record)
      const other = await open(url)
      proxy.lose('request', 'update responses', 1)
      const change = { state: 'settled', payment_response: 'e30=', updated_at } as const
      const [lost, direct] = await Promise.all([log.advance(record, change), other.advance(record, change)])
      await other.close()
      expect([lost, direct].filter(Boolean)).to.have.lengthOf(1)
    })
  })

  it('is writable if a sale could be inserted, leaves none, and names the fault of a locked table', async () => {
    const log = await open(url)
    let failure: unknown
    const stored = () => withPool(url, async (pool) => (await pool.query('select 1 from responses')).rowCount)
    try {
      await log.checkWritable()
      expect(await stored()).to.equal(0)
      await withPool(url, async (pool) => {
        const client = await pool.connect()
        await client.query('begin; lock table responses in exclusive mode')
        failure = await log.checkWritable().catch((cause: unknown) => cause)
        await client.query('rollback')
        client.release()
      })
      expect(describeCause(failure)).to.deep.equal({ error: 'StoreError < error 55P03' })
      await log.checkWritable()
      expect(await stored()).to.equal(0)
    } finally {
      await log.close()
    }
  })

  it('rejects a record with a flipped bit, and a record of another identity', async () => {
    const writer = await open(url)
    await writer.claim(makeRecord({ identity: 'payer/1' }))
    await writer.claim(makeRecord({ identity: 'payer/2' }))
    await writer.close()
    const log = await open(url)
    await withPool(url, async (pool) => {
      await pool.query(`update records set record = set_byte(record, 40, get_byte(record, 40) # 1)
        where identity = 'payer/1'`)
      for (const table of ['responses', 'records'])
        await pool.query(`update ${table} set identity = 'payer/3' where identity = 'payer/2'`)
    })
    for (const identity of ['payer/1', 'payer/3']) {
      expect(await failureOf(log.read(identity))).to.match(/^CorruptRecordError/)
      const advance = log.advance(makeRecord({ identity }), { state: 'unknown', updated_at })
      expect(await failureOf(advance)).to.match(/^CorruptRecordError/)
    }
    await log.close()
  })

  describe('refuses to open, with one line and without the URL,', () => {
    const refusal = async (change: string) => {
      await withPool(url, (pool) => pool.query(change))
      const failure = await failureOf(open(url))
      expect(failure).to.match(/^StoreError: [^\n]*$/)
      expect(failure).not.to.contain('host=')
      return failure
    }

    it('an older and a newer schema', async () => {
      const latest = 'update schema_migrations set version ='
      const from = (version: number) => `where version = ${version}`
      const newer = `${latest} ${SCHEMA_VERSION + 1} ${from(SCHEMA_VERSION)}`
      expect(await refusal(newer)).to.contain('use the newer program')
      const older = `${latest} 0 ${from(SCHEMA_VERSION + 1)}`
      expect(await refusal(older)).to.contain('irish-company-agent migrate')
      await withPool(url, (pool) => pool.query(`${latest} ${SCHEMA_VERSION} ${from(0)}`))
      await (await open(url)).close()
    })

    for (const value of ['off', 'local', 'remote_write']) {
      it(`a database with synchronous_commit = ${value}, also if a pooler would drop a setting of the session`, async () => {
        const setting = `alter database ${new URL(url).pathname.slice(1)} set synchronous_commit`
        try {
          expect(await refusal(`${setting} = ${value}`)).to.contain('SET synchronous_commit = on')
        } finally {
          await withPool(url.replace(/\/[^/?]*\?/, '/postgres?'), (pool) => pool.query(`${setting} = on`))
        }
      })
    }

    const REASONS: [reason: string, of: (url: URL) => URL][] = [
      ['there is no database of this name', (other) => Object.assign(other, { pathname: '/none' })],
      ['it refuses the user', (other) => Object.assign(other, { username: 'nobody' })],
      ['no server listens at its address', () => new URL('postgres://test@127.0.0.1:1/none')],
      ['its host name is unknown', () => new URL('postgres://test@none.invalid/none')],
    ]
    for (const [reason, of] of REASONS) {
      it(`because ${reason}`, async () => {
        const failure = await failureOf(open(of(new URL(url)).href))
        expect(failure).to.equal(`StoreError: RESPONSE_LOG cannot be used: ${reason}`)
      })
    }

    it('a server that does not answer in time', async () => {
      const silent = createServer(() => undefined)
      const { port } = await new Promise<AddressInfo>((resolve) => {
        silent.listen(0, '127.0.0.1', () => resolve(silent.address() as AddressInfo))
      })
      try {
        const failure = await failureOf(open(`postgres://test@127.0.0.1:${port}/none`))
        expect(failure).to.equal('StoreError: RESPONSE_LOG cannot be used: it did not answer in time')
      } finally {
        silent.close()
      }
    })
  })

  describe('with its own server', () => {
    let server: PostgresServer

    afterEach(() => server.stop())

    it('keeps acknowledged records when the server is killed, and uses the server after its restart', async () => {
      server = await startPostgres()
      const own = await server.createDatabase()
      await migrateDatabase(own)
      const reports: string[] = []
      const log = await openPostgresResponseLog({
        url: own,
        report: (event) => void reports.push(event),
      })
      const claimed = Array.from({ length: 20 }, (_, index) => makeRecord({ identity: `payer/${index}` }))
      await Promise.all(claimed.map((record) => log.claim(record)))
      await server.kill()
      expect(await failureOf(log.read('payer/1'))).to.match(
        /^StoreError: The database of the response log cannot be used: /,
      )
      await server.start()
      for (const record of claimed) expect(await log.read(record.identity)).to.deep.equal(record)
      await log.close()
      expect(reports).to.include('database_connection_lost')
    })

    it('refuses a server that does not write commits to disk', async () => {
      server = await startPostgres({ fsync: 'off' })
      const own = await server.createDatabase()
      expect(await failureOf(open(own))).to.contain('fsync=off')
    })
  })

  it('applies each migration once when two commands run at the same time', async () => {
    const server = await startPostgres()
    try {
      const own = await server.createDatabase()
      const both = await Promise.allSettled([migrateDatabase(own), migrateDatabase(own)])
      expect(both.filter(({ status }) => status === 'fulfilled')).not.to.have.lengthOf(0)
      expect(await migrateDatabase(own)).to.deep.equal([])
      await (await open(own)).close()
    } finally {
      await server.stop()
    }
  })
})
