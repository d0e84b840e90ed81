/**
 * A service that retrieves its dataset from a portal, and stops selling after 72 hours without success (contract 3.1).
 */
import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { REGISTER } from '../support/fixtures.ts'
import { manualTimer } from '../support/timers.ts'
import { sendCkanResult, sendBody, startPortal, type TestPortal } from '../support/portal.ts'
import { expectRefusal } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { buyOverTransports } from '../support/transports.ts'

const HOUR_MS = 60 * 60 * 1000
const ARCHIVE = '/companies.csv'
const RESOURCE_SHOW = '/api/3/action/resource_show?id=r-1'

interface Meta {
  dataset_status: string
  snapshot_id: string
  source: { retrieved_at: string; source_updated_at: string | null; synthetic: boolean }
}

describe('a service with a dataset from a portal', () => {
  let portal: TestPortal
  let service: TestService
  let clock: number
  // Shorter waits belong to payments.
  const timers = manualTimer((milliseconds) => milliseconds >= 60_000)

  before(async () => {
    clock = Date.now()
    portal = await startPortal()
    portal.on(ARCHIVE, sendBody(await readFile(REGISTER)))
    portal.on(RESOURCE_SHOW, sendCkanResult({ url: portal.url + ARCHIVE, last_modified: '2026-01-05T06:07:08' }))
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

  const { get, lookup, resolve, payFor } = buyOverTransports(() => service)
  const meta = async () => (await get('/api/v1/meta')).json as unknown as Meta

  /** Ends all waits, and so makes the service retrieve, until a condition holds. */
  async function retrieveUntil(isDone: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isDone())) {
      timers.pass()
      await sleep(50)
    }
  }

  it('[2.2, 3.1, 11.1] reports the update time, goes stale 72 hours after the last success, and recovers', async function () {
    // Each import starts a process.
    this.timeout(240_000)
    const first = await meta()
    expect(first).to.deep.include({ dataset_status: 'ready' })
    expect(first.source).to.include({ source_updated_at: '2026-01-05T06:07:08.000Z', synthetic: false })

    const payment = await payFor(lookup('73848'))
    const bought = await lookup('73848', payment)
    expect(bought.status).to.equal(200)
    expect((bought.json as unknown as Meta).source).to.deep.equal(first.source)

    portal.on(RESOURCE_SHOW, (_, response) => void response.writeHead(500).end())
    clock = Date.parse(first.source.retrieved_at) + 72 * HOUR_MS
    expect(await meta()).to.deep.include({ dataset_status: 'ready' })
    clock += 1
    await retrieveUntil(() => service.reports.some(([event]) => event === 'dataset_retrieval_failed'))
    expect(await meta()).to.deep.include({ dataset_status: 'stale', source: first.source })
    expectRefusal(await lookup('73848'), 'dataset_stale')
    expectRefusal(await lookup('00000000'), 'payment_required')
    expectRefusal(await resolve({ company_number: '00000000' }), 'payment_required')
    expectRefusal(await resolve({ name: 'Synthetic Test Company Limited' }), 'dataset_stale')
    expect((await lookup('73848', payment)).text).to.equal(bought.text)

    portal.on(RESOURCE_SHOW, sendCkanResult({ url: portal.url + ARCHIVE, last_modified: '2026-01-06T00:00:00' }))
    clock += HOUR_MS
    await retrieveUntil(async () => (await meta()).source.source_updated_at === '2026-01-06T00:00:00.000Z')
    expect(await meta()).to.deep.include({ dataset_status: 'ready', snapshot_id: first.snapshot_id })
    expectRefusal(await lookup('73848'), 'payment_required')
  })
})
