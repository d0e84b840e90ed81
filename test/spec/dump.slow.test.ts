/** The dump and the restore of PostgreSQL in docs/operations/drills.md, word for word, with a running service. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { delimiter } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { migrateDatabase } from '../../store/log/postgres/schema.ts'
import { runCommand } from '../support/cli.ts'
import { readBlocks } from '../support/documents.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
import { startTestService } from '../support/service.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { buyOverTransports } from '../support/transports.ts'
import { needProgram } from '../support/programs.ts'

const DRILLS = fileURLToPath(import.meta.resolve('#root/docs/operations/drills.md'))

describe('the documented dump of PostgreSQL', function () {
  this.timeout(240_000)

  it('[5.7.12] keeps each sale before it in a new database, and no later one is charged again', async function () {
    const binaries = needProgram(this, 'PostgreSQL', findPostgres())
    const blocks = readBlocks(await readFile(DRILLS, 'utf8')).map(({ script }) => script)
    const [dump = '', create = '', restore = '', ...others] =
      blocks
        .find((script) => script.startsWith('pg_dump '))
        ?.trim()
        .split('\n') ?? []
    expect(others).to.deep.equal([])

    const server = await startPostgres()
    const url = await server.createDatabase()
    await migrateDatabase(url)
    const restored = Object.assign(new URL(url), { pathname: '/companies_restored' }).href
    const cwd = await makeTemporaryDirectory()
    const PATH = [binaries, process.env['PATH']].join(delimiter)
    const run = (command: string) =>
      promisify(execFile)('sh', ['-c', command], { cwd, env: { PATH, RESPONSE_LOG: url, RESTORED: restored } })
    const environment = { RESPONSE_LOG: url }
    const service = await startTestService({ environment })
    try {
      const { lookup, payFor } = buyOverTransports(() => service)
      const buy = async () => {
        const payment = await payFor(lookup('00000000'))
        return { payment, sold: await lookup('00000000', payment) }
      }
      const before = await buy()
      await run(dump)
      const after = await buy()
      expect([before.sold.status, after.sold.status]).to.deep.equal([200, 200])
      await service.restart({
        whileStopped: async () => {
          await run(create)
          await run(restore)
          environment.RESPONSE_LOG = restored
        },
      })

      const { transfers } = await service.paid()
      const replayed = await lookup('00000000', before.payment)
      expect([replayed.status, replayed.text]).to.deep.equal([200, before.sold.text])
      expect((await lookup('00000000', after.payment)).json).to.have.nested.property(
        'error.code',
        'payment_already_settled',
      )
      expect((await service.paid()).transfers).to.equal(transfers)
      const listed = await runCommand(['payments', 'unrecorded'], {
        environment: { DATA_DIR: service.directory, RESPONSE_LOG: restored },
      })
      expect([listed.code, listed.text.trim().split('\n').length], listed.stderr).to.deep.equal([0, 1])
    } finally {
      await service.stop()
      await server.stop()
    }
  })
})
