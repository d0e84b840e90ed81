/**
 * A service whose dataset is missing, stale or cannot be read: it starts, refuses sales, and recovers by itself
 * (contract 3.1, 11).
 */
import { readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { Catalog } from '../../store/dataset/catalog.ts'
import { snapshotsFolder } from '../../store/files/layout.ts'
import { ImportError } from '../../store/import/errors.ts'
import { REGISTER } from '../support/fixtures.ts'
import { manualTimer } from '../support/timers.ts'
import { sendBody, sendCkanResult, startPortal, type TestPortal } from '../support/portal.ts'
import { expectRefusal, type RawReply } from '../support/raw-http.ts'
import { HEADER } from '../support/register.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { buyOverTransports, expectCharges, type Operation } from '../support/transports.ts'

const ARCHIVE = '/companies.csv'
const RESOURCE_SHOW = '/api/3/action/resource_show?id=r-1'
/** The schedule of the retrievals waits a multiple of this. */
const FIRST_RETRY_MS = 60_000
const HOUR_MS = 60 * FIRST_RETRY_MS

const OPERATIONS: Operation[] = [
  { operation: 'lookup', input: { company_number: '73848' } },
  { operation: 'search', input: { q: 'PLAIN FIXTURE' } },
  { operation: 'resolve', input: { name: 'PLAIN FIXTURE LIMITED' } },
]

interface Meta {
  dataset_status: string
  snapshot_id: string
  source: { retrieved_at: string; source_updated_at: string | null; synthetic: boolean }
}

let service: TestService
const { get, lookup, resolve, rest, a2a, payFor, buy } = buyOverTransports(() => service)
const meta = async () => (await get('/api/v1/meta')).json as unknown as Meta

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
  while (!(await isDone())) await sleep(250)
}

describe('a service with a dataset from a portal', () => {
  let portal: TestPortal
  let clock = Date.now()
  const timers = manualTimer((milliseconds) => milliseconds % FIRST_RETRY_MS === 0 && milliseconds <= 24 * HOUR_MS)
  const lastModified = (time: string) =>
    portal.on(RESOURCE_SHOW, sendCkanResult({ url: portal.url + ARCHIVE, last_modified: time }))

  before(async () => {
    portal = await startPortal()
    portal.on(ARCHIVE, (request) => void request.socket.destroy())
    lastModified('2026-01-05T06:07:08')
    service = await startTestService({
      environment: { DATASET: `${portal.url}/dataset/companies/resource/r-1` },
      now: () => new Date(clock),
      // Without registries, because they set timers too.
      replaceExternals: ({ facilitator, chain, payTo }) => ({ facilitator, chain, payTo }),
      timer: timers.timer,
    })
  })
  after(async () => {
    await service.stop()
    await portal.close()
  })

  /** The codes of failed retrievals. A wrong clock is reported too. */
  const failures = () =>
    service.reports.flatMap(([event, cause]) =>
      event === 'dataset_retrieval_failed' ? [cause instanceof ImportError && cause.code] : [],
    )

  /** Ends all waits, and so makes the service retrieve, until a condition holds. */
  async function retrieveUntil(isDone: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isDone())) {
      timers.pass()
      await sleep(50)
    }
  }

  it('[2.10, 3.1, 4.4.1, 11.9] starts without it, reports the failure, and answers 503 where data is needed', async () => {
    expect(service.reports.map(([event]) => event)).to.deep.equal(['dataset_retrieval_failed'])
    await expectCharges(service, [], () => expectNothingSold())
    expect((await get('/docs/api.md')).status).to.equal(200)
    expect((await get('/attribution')).json).to.include({ publisher: 'Companies Registration Office (CRO)' })
  })

  it('[1.7] sells the synthetic company without it', async () => {
    const bought = await buy((payment) => lookup('00000000', payment))
    expect(bought.status).to.equal(200)
  })

  it('[2.2, 3.1, 11.1, 11.9] sells it once it comes, goes stale 72 hours after the last success, and recovers', async () => {
    portal.on(ARCHIVE, sendBody(await readFile(REGISTER)))
    await retrieveUntil(async () => (await get('/api/v1/meta')).status === 200)
    const first = await meta()
    expect(first).to.deep.include({ dataset_status: 'ready' })
    expect(first.source).to.include({ source_updated_at: '2026-01-05T06:07:08.000Z', synthetic: false })

    const payment = await payFor(lookup('73848'))
    const bought = await lookup('73848', payment)
    expect(bought.status).to.equal(200)
    expect((bought.json as unknown as Meta).source).to.deep.equal(first.source)

    portal.on(RESOURCE_SHOW, (_, response) => void response.writeHead(500).end())
    service.reports.length = 0
    clock = Date.parse(first.source.retrieved_at) + 72 * HOUR_MS
    expect(await meta()).to.deep.include({ dataset_status: 'ready' })
    clock += 1
    await retrieveUntil(() => failures().length > 0)
    expect(await meta()).to.deep.include({ dataset_status: 'stale', source: first.source })
    expectRefusal(await lookup('73848'), 'dataset_stale')
    expectRefusal(await lookup('00000000'), 'payment_required')
    expectRefusal(await resolve({ company_number: '00000000' }), 'payment_required')
    expectRefusal(await resolve({ name: 'Synthetic Test Company Limited' }), 'dataset_stale')
    expect((await lookup('73848', payment)).text).to.equal(bought.text)

    lastModified('2026-01-06T00:00:00')
    clock += HOUR_MS
    await retrieveUntil(async () => (await meta()).source.source_updated_at === '2026-01-06T00:00:00.000Z')
    expect(await meta()).to.deep.include({ dataset_status: 'ready', snapshot_id: first.snapshot_id })
    expectRefusal(await lookup('73848'), 'payment_required')
  })

  it('[11.1, 11.2] serves the stored snapshot, and starts again, while the source has an endless row', async () => {
    const { snapshot_id } = await meta()
    portal.on(ARCHIVE, sendBody(`${HEADER}\n${','.repeat(100_000)}`))
    lastModified('2026-01-07T00:00:00')
    service.reports.length = 0
    clock += HOUR_MS
    await retrieveUntil(() => failures().length > 0)
    expect(await meta()).to.include({ snapshot_id })
    await service.restart()
    await retrieveUntil(() => failures().length > 1)
    expect(await meta()).to.include({ snapshot_id })
    expect(failures()).to.deep.equal(['csv_malformed', 'csv_malformed'])
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
