/** Archives that exhaust a parser. The service continues (contract 11.2). */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { ImportError } from '../../store/import/errors.ts'
import { REGISTER } from '../support/fixtures.ts'
import { manualTimer } from '../support/timers.ts'
import { sendBody, startPortal, type TestPortal } from '../support/portal.ts'
import { HEADER } from '../support/register.ts'
import { startTestService, type TestService } from '../support/service.ts'
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
})
