/** The response log through pgbouncer in transaction mode. */
import { expect } from 'chai'
import pg from 'pg'
import { openPostgresResponseLog } from '../../../../store/log/postgres/responses.ts'
import { migrateDatabase } from '../../../../store/log/postgres/schema.ts'
import { findPgbouncer, startPgbouncer, type Pooler } from '../../../support/pgbouncer.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../../../support/postgres.ts'
import { withPool } from '../../../../store/log/postgres/connection.ts'
import { makeRecord } from '../../../support/records.ts'
import { failureOf } from '../../../support/failure.ts'
import { needProgram } from '../../../support/programs.ts'

const updated_at = '2026-01-01T00:00:01.000Z'
const SALES = 40
/** Notes the setting of each transaction that writes a record. */
const NOTE_SETTINGS = [
  'create table settings (value text)',
  `create function note_setting() returns trigger language plpgsql as $$
     begin insert into settings values (current_setting('synchronous_commit')); return new; end $$`,
  'create trigger note_setting before insert or update on responses for each row execute function note_setting()',
]

const open = (url: string) => openPostgresResponseLog({ url, report: () => undefined })

describe('the response log behind pgbouncer in transaction mode', function () {
  this.timeout(240_000)
  let server: PostgresServer
  let pooler: Pooler
  let direct: string

  before(async function () {
    needProgram(this, 'PostgreSQL', findPostgres())
    needProgram(this, 'pgbouncer', findPgbouncer())
    server = await startPostgres()
    pooler = await startPgbouncer(server.socketFolder)
  })
  after(async () => {
    await (pooler as Pooler | undefined)?.[Symbol.asyncDispose]()
    await (server as PostgresServer | undefined)?.stop()
  })
  beforeEach(async () => {
    direct = await server.createDatabase()
    await migrateDatabase(pooler.through(direct))
    await withPool(direct, async (pool) => {
      for (const statement of NOTE_SETTINGS) await pool.query(statement)
    })
  })

  async function changeSetting(url: string): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('set synchronous_commit = off')
    await client.end()
  }

  async function sell(url: string) {
    const log = await open(url)
    await Promise.all(
      Array.from({ length: SALES }, async (_, index) => {
        const record = makeRecord({ identity: `payer/${index}`, payment_id: `payer/id-${index}` })
        expect((await log.claim(record)).kind).to.equal('claimed')
        await log.checkWritable()
        const settled = await log.advance(record, { state: 'settled', payment_response: 'e30=', updated_at })
        expect(await log.read(record.identity)).to.deep.equal(settled)
      }),
    )
    await log.close()
    return withPool(direct, async (pool) => {
      const { rows } = await pool.query<{ value: string; count: number }>(
        'select value, count(*)::int as count from settings group by value order by value',
      )
      return rows
    })
  }

  it('writes each record with the durable setting of the database', async () => {
    expect(await sell(pooler.through(direct))).to.deep.equal([{ value: 'on', count: 2 * SALES }])
  })

  it('does not start on a connection whose setting another client of the pooler has changed', async () => {
    await changeSetting(pooler.through(direct))
    expect(await failureOf(open(pooler.through(direct)))).to.contain('SET synchronous_commit = on')
    await using resetting = await startPgbouncer(server.socketFolder, ['server_reset_query_always = 1'])
    await changeSetting(resetting.through(direct))
    await (await open(resetting.through(direct))).close()
  })
})
