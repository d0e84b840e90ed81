/** A service that retrieves its dataset from a portal, and stops selling after 72 hours without success (contract 3.1). */
import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { REGISTER } from '../support/fixtures.ts'
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
  let due: (() => void) | undefined

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
      timer(callback, milliseconds) {
        // Shorter waits belong to payments.
        if (milliseconds < 60_000) return () => undefined
        due = callback
        return () => (due = undefined)
      },
    })
  })
  after(async () => {
    await service.stop()
    await portal.close()
  })

  const { get, lookup, payFor } = buyOverTransports(() => service)
  const meta = async () => (await get('/api/v1/meta')).json as unknown as Meta

  /** Ends the waits of the schedule until it has asked the portal and waits again. */
  async function retrieveAgain(): Promise<void> {
    const before = portal.requests.length
    while (portal.requests.length === before || due === undefined) {
      const retrieve = due
      due = undefined
      retrieve?.()
      await new Promise((resolve) => void setTimeout(resolve, 5))
    }
  }

  it('[2.2, 3.1, 11.1] reports the update time, goes stale 72 hours after the last success, and recovers', async () => {
    const first = await meta()
    expect(first).to.deep.include({ dataset_status: 'ready' })
    expect(first.source).to.include({ source_updated_at: '2026-01-05T06:07:08.000Z', synthetic: false })

    const payment = await payFor(lookup('73848'))
    const bought = await lookup('73848', payment)
    expect(bought.status).to.equal(200)
    expect((bought.json as unknown as Meta).source).to.deep.equal(first.source)

    portal.on(RESOURCE_SHOW, (_, response) => void response.writeHead(500).end())
    clock += 72 * HOUR_MS + 60_000
    await retrieveAgain()
    expect(service.reports.map(([event]) => event)).to.deep.equal(['dataset_retrieval_failed'])
    expect(await meta()).to.deep.include({ dataset_status: 'stale', source: first.source })
    expectRefusal(await lookup('73848'), 'dataset_stale')
    expectRefusal(await lookup('00000000'), 'payment_required')
    expect((await lookup('73848', payment)).text).to.equal(bought.text)

    portal.on(RESOURCE_SHOW, sendCkanResult({ url: portal.url + ARCHIVE, last_modified: '2026-01-06T00:00:00' }))
    clock += HOUR_MS
    await retrieveAgain()
    const last = await meta()
    expect(last).to.deep.include({ dataset_status: 'ready', snapshot_id: first.snapshot_id })
    expect(last.source.source_updated_at).to.equal('2026-01-06T00:00:00.000Z')
    expectRefusal(await lookup('73848'), 'payment_required')
  })
})
