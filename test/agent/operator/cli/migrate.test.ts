/** The command `migrate` on a real PostgreSQL server. */
import { expect } from 'chai'
import { openPostgresResponseLog } from '../../../../store/log/postgres/responses.ts'
import { SCHEMA_VERSION } from '../../../../store/log/postgres/schema.ts'
import { runCommand } from '../../../support/cli.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../../../support/postgres.ts'

describe('irish-company-agent migrate', function () {
  this.timeout(240_000)

  it('needs RESPONSE_LOG', async () => {
    expect(await runCommand(['migrate'])).to.include({ code: 1, stderr: 'RESPONSE_LOG must be set for this command\n' })
  })

  it('reports a database that does not answer with one line, without the URL', async () => {
    const environment = { RESPONSE_LOG: 'postgres://user:secret@127.0.0.1:1/none' }
    const { code, stderr } = await runCommand(['migrate'], { environment })
    expect(code).to.equal(1)
    expect(stderr)
      .to.match(/^[^\n]+\n$/)
      .and.not.contain('secret')
  })

  describe('with a server', () => {
    let server: PostgresServer

    before(async function () {
      if (findPostgres() === undefined) return this.skip()
      server = await startPostgres()
    })
    after(() => server?.stop())

    it('creates the tables, and does nothing the second time', async () => {
      const url = await server.createDatabase()
      const environment = { RESPONSE_LOG: url }
      const first = await runCommand(['migrate'], { environment })
      const applied = [5, 6].map((version) => `applied migration ${version}`)
      const version = `schema version ${SCHEMA_VERSION}`
      expect([first.code, first.lines]).to.deep.equal([0, [...applied, version]])
      const second = await runCommand(['migrate'], { environment })
      expect([second.code, second.lines]).to.deep.equal([0, [version]])
      await (await openPostgresResponseLog({ url, report: () => undefined })).close()
      expect(await runCommand(['payments', 'unfinished'], { environment })).to.include({ code: 0, text: '' })
    })
  })
})
