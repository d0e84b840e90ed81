/** The check of the response log in PostgreSQL with a synchronous standby, which fails while no standby follows. */
import { expect } from 'chai'
import { checkResponseLog } from '../../../agent/operator/check/storage.ts'
import { readConfig } from '../../../agent/service/config.ts'
import { migrateDatabase } from '../../../store/log/postgres/schema.ts'
import { findPostgres } from '../../support/postgres.ts'
import { PostgresCluster } from '../../support/postgres-cluster.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('[14.22] the check of a database with a synchronous standby', function () {
  this.timeout(180_000)

  it('passes, and fails while the standby is away', async function () {
    if (findPostgres() === undefined) return this.skip()
    await using cluster = await PostgresCluster.start()
    const url = cluster.url('postgres')
    await migrateDatabase(url)
    await cluster.addStandby()
    const config = readConfig({ DATA_DIR: await makeTemporaryDirectory(), RESPONSE_LOG: url })
    const detail = 'PostgreSQL with a synchronous standby, 0 payments without a final outcome'
    expect(await checkResponseLog(config)).to.deep.equal([{ kind: 'passed', detail }])
    cluster.cutReplication()
    const failure = await checkResponseLog(config).catch((cause: unknown) => cause)
    expect(failure).to.be.instanceOf(Error)
  })
})
