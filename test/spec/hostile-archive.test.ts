/** Archives that exhaust a parser. The service continues (contract 11.2). */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { ImportError } from '../../store/import/errors.ts'
import { runCommand } from '../support/cli.ts'
import { REGISTER } from '../support/fixtures.ts'
import { ENDINGS } from '../support/body-endings.ts'
import { manualTimer } from '../support/timers.ts'
import { sendBody, startPortal, type TestPortal } from '../support/portal.ts'
import { HEADER, numberedRows, toCsv } from '../support/register.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { requestOverTransports } from '../support/transports.ts'
import { buildZip } from '../support/zip.ts'

const ARCHIVE = '/companies.csv.zip'
const COMMAS = 150_000_000
/** The schedule of the retrievals waits a multiple of this. */
const FIRST_RETRY_MS = 60_000
const DAY_MS = 24 * 60 * FIRST_RETRY_MS

const codesOf = ({ reports }: TestService) =>
  reports.map(([event, cause]) => `${event} ${cause instanceof ImportError ? cause.code : 'not an ImportError'}`)

describe('a service whose source sends an archive that cannot be read', function () {
  // A start and several imports, on a machine that may be busy.
  this.timeout(240_000)

  let exploding: Buffer
  let portal: TestPortal
  let service: TestService
  const timers = manualTimer((milliseconds) => milliseconds % FIRST_RETRY_MS === 0 && milliseconds <= DAY_MS)

  before(() => {
    const content = Buffer.concat([Buffer.from(`${HEADER}\n`), Buffer.alloc(COMMAS, ',')])
    exploding = buildZip({ name: 'companies.csv', content })
    expect(exploding.length).to.be.lessThan(220_000)
  })
  beforeEach(async () => void (portal = await startPortal()))
  afterEach(async () => {
    await service.stop()
    await portal.close()
  })

  const start = async () => {
    service = await startTestService({
      environment: { DATASET: portal.url + ARCHIVE },
      // Without registries, because they set timers too.
      replaceExternals: ({ facilitator, chain, payTo }) => ({ facilitator, chain, payTo }),
      timer: timers.timer,
    })
  }
  const { get } = requestOverTransports(() => service)
  const served = async () => (await get('/api/v1/meta')).json['snapshot_id']

  /** Ends the waits of the schedule until there is another report. */
  async function untilReported(count: number): Promise<void> {
    while (service.reports.length < count) {
      timers.pass()
      await sleep(5)
    }
  }

  it('[11.1, 11.2] serves the stored snapshot, and starts again, while the source has a row of 150 million commas', async () => {
    portal.on(ARCHIVE, sendBody(await readFile(REGISTER)))
    await start()
    const before = await served()
    portal.on(ARCHIVE, sendBody(exploding))
    await untilReported(1)
    expect(await served()).to.equal(before)
    await service.restart()
    await untilReported(2)
    expect(await served()).to.equal(before)
    expect(codesOf(service)).to.deep.equal(Array(2).fill('dataset_retrieval_failed csv_malformed'))
  })

  it('[11.1] serves the stored snapshot however the source ends an archive', async () => {
    portal.on(ARCHIVE, sendBody(await readFile(REGISTER)))
    await start()
    const before = await served()
    for (const [index, ending] of ENDINGS.entries()) {
      // Each one is too short, so it is refused if it arrives whole.
      portal.on(ARCHIVE, (_, response) => void ending.send(response.socket!, Buffer.alloc(60_000, 'x,')))
      await untilReported(index + 1)
      expect(await served()).to.equal(before)
    }
    expect(codesOf(service)).to.deep.equal(
      ENDINGS.map(({ isWhole }) => `dataset_retrieval_failed ${isWhole ? 'csv_malformed' : 'source_cut'}`),
    )
  })
})

describe('the command import', () => {
  it('[11.2, 11.12, 14.5] refuses a row of commas, and the loss of companies unless --accept-changes is given', async () => {
    const directory = await makeTemporaryDirectory()
    const path = join(directory, 'companies.csv')
    await mkdir(join(directory, 'data'))
    const run = async (content: string, ...args: string[]) => {
      await writeFile(path, content)
      return runCommand(['import', path, ...args], { environment: { DATA_DIR: join(directory, 'data') } })
    }
    const malformed = await run(`${HEADER}\n${','.repeat(1_000_000)}`)
    expect((await run(toCsv(...numberedRows(20)))).code).to.equal(0)
    const fewer = toCsv(...numberedRows(17))
    const lost = await run(fewer)
    expect([malformed.code, lost.code]).to.deep.equal([1, 1])
    expect(malformed.stderr).to.match(/^import refused, csv_malformed: [^\n]+\n$/)
    expect(lost.stderr).to.match(/^import refused, changes_refused: [^\n]+\n$/)
    for (const args of [['--accept-changes'], []]) expect((await run(fewer, ...args)).code).to.equal(0)
  })
})
