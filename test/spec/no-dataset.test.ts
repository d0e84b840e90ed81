/**
 * A service whose dataset is missing or cannot be read: it starts, refuses sales, and recovers by itself (contract
 * 3.1).
 */
import { readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { Catalog } from '../../store/dataset/catalog.ts'
import { snapshotsFolder } from '../../store/files/layout.ts'
import { REGISTER } from '../support/fixtures.ts'
import { manualTimer } from '../support/timers.ts'
import { sendBody, startPortal, type TestPortal } from '../support/portal.ts'
import { expectRefusal, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { buyOverTransports, expectCharges, type Operation } from '../support/transports.ts'

const ARCHIVE = '/companies.csv'

/** The schedule of the retrievals waits this long after its first failure. */
const FIRST_RETRY_MS = 60_000

const OPERATIONS: Operation[] = [
  { operation: 'lookup', input: { company_number: '73848' } },
  { operation: 'search', input: { q: 'PLAIN FIXTURE' } },
  { operation: 'resolve', input: { name: 'PLAIN FIXTURE LIMITED' } },
]

let service: TestService
const { get, lookup, rest, a2a, payFor, buy } = buyOverTransports(() => service)

function expectUnavailable(reply: RawReply): void {
  expectRefusal(reply, 'dataset_unavailable')
  expect(reply.headers['retry-after']).to.equal('60')
}

async function expectNothingSold(payment?: string): Promise<void> {
  expectUnavailable(await get('/api/v1/meta'))
  for (const operation of OPERATIONS) {
    expectUnavailable(await rest(operation, payment))
    expectUnavailable(await a2a(operation, payment))
  }
}

const until = async (isDone: () => Promise<boolean>) => {
  while (!(await isDone())) await new Promise((resolve) => void setTimeout(resolve, 250))
}

describe('a service whose remote source cannot be reached at its first start', () => {
  let portal: TestPortal
  const timers = manualTimer((milliseconds) => milliseconds === FIRST_RETRY_MS)

  before(async () => {
    portal = await startPortal()
    portal.on(ARCHIVE, (request) => void request.socket.destroy())
    service = await startTestService({
      environment: { DATASET: portal.url + ARCHIVE },
      // Without registries, because they set timers too.
      replaceExternals: ({ facilitator, chain, payTo }) => ({ facilitator, chain, payTo }),
      timer: timers.timer,
    })
  })
  after(async () => {
    await service.stop()
    await portal.close()
  })

  it('[2.10, 3.1, 4.4.1, 11.9] starts, reports the failure, and answers 503 where data is needed', async () => {
    expect(service.reports.map(([event]) => event)).to.deep.equal(['dataset_retrieval_failed'])
    await expectCharges(service, [], () => expectNothingSold())
    expect((await get('/docs/api.md')).status).to.equal(200)
    expect((await get('/attribution')).json).to.include({ publisher: 'Companies Registration Office (CRO)' })
  })

  it('[1.7] sells the synthetic company', async () => {
    const bought = await buy((payment) => lookup('00000000', payment))
    expect(bought.status).to.equal(200)
  })

  it('[3.1, 11.9] retries the source and sells its dataset without a restart', async () => {
    portal.on(ARCHIVE, sendBody(await readFile(REGISTER)))
    timers.pass()
    await until(async () => (await get('/api/v1/meta')).status === 200)
    expect((await buy((payment) => lookup('73848', payment))).status).to.equal(200)
  })
})

describe('a service whose snapshot is missing', () => {
  before(async () => void (service = await startTestService()))
  after(() => service.stop())

  it('[3.1, 4.4.1] refuses every sale before a charge, and sells again once the snapshot is repaired', async () => {
    const payment = await payFor(lookup('73848'))
    const other = new Catalog(service.directory)
    const snapshots = snapshotsFolder(service.directory)
    const [name = ''] = await readdir(snapshots)
    const repairedName = '0'.repeat(64)
    await other.publish({ ...other.retrieval()!, snapshot_id: `sha256:${repairedName}` })
    await other.close()
    await until(async () => (await get('/api/v1/meta')).status !== 200)
    await expectCharges(service, [], () => expectNothingSold(payment))

    await rename(join(snapshots, name), join(snapshots, repairedName))
    await until(async () => (await get('/api/v1/meta')).status === 200)
    await expectCharges(service, [1000n], async () => {
      expect((await lookup('73848', payment)).status).to.equal(200)
    })
    expect(service.reports.map(([event]) => event)).to.deep.equal(['dataset_unreadable'])
  })
})
