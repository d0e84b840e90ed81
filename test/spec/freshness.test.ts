/** Spec 8: the service keeps its dataset fresh from a portal, and sells nothing of it once that has failed for 72 hours. */
import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { REGISTER } from '../support/fixtures.ts'
import { answers, sends, startPortal, type Portal } from '../support/portal.ts'
import { expectRefusal, send } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'

const HOUR_MS = 60 * 60 * 1000
const ARCHIVE = '/companies.csv'
const RESOURCE_SHOW = '/api/3/action/resource_show?id=r-1'
const COMPANY = '/api/v1/company/73848'
const SYNTHETIC = '/api/v1/company/00000000'

interface Meta {
  dataset_status: string
  snapshot_id: string
  source: { retrieved_at: string; source_updated_at: string | null; synthetic: boolean }
}

describe('a service whose dataset is at a portal', () => {
  let portal: Portal
  let service: TestService
  const began = Date.now()
  let clock = began
  let due: (() => void) | undefined

  before(async () => {
    portal = await startPortal()
    portal.on(ARCHIVE, sends(await readFile(REGISTER)))
    portal.on(RESOURCE_SHOW, answers({ url: portal.url + ARCHIVE, last_modified: '2026-01-05T06:07:08' }))
    service = await startTestService({
      environment: { DATASET: `${portal.url}/dataset/companies/resource/r-1` },
      now: () => new Date(clock),
      // Without registries, which have timers of their own.
      doors: ({ facilitator, chain, payTo }) => ({ facilitator, chain, payTo }),
      timer(callback, milliseconds) {
        // Shorter waits are the payments' own.
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

  const meta = async () => (await send({ url: service.url, path: '/api/v1/meta' })).json as unknown as Meta
  const buy = (path: string, payment?: string) =>
    send({ url: service.url, path, headers: payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment } })
  const quote = async (path: string) => String((await buy(path)).headers['payment-required'])

  /** Lets the waits of the schedule end until it has asked the portal and is waiting again. */
  async function retrieveAgain(): Promise<void> {
    const before = portal.asked.length
    while (portal.asked.length === before || due === undefined) {
      const look = due
      due = undefined
      look?.()
      await new Promise((resolve) => void setTimeout(resolve, 5))
    }
  }

  it('says when the portal updated it, goes stale 72 hours after the last success, and recovers', async () => {
    const first = await meta()
    expect(first).to.deep.include({ dataset_status: 'ready' })
    expect(first.source).to.include({ source_updated_at: '2026-01-05T06:07:08.000Z', synthetic: false })

    const payment = await service.pay(await quote(COMPANY))
    const bought = await buy(COMPANY, payment)
    expect(bought.status).to.equal(200)
    expect((bought.json as unknown as Meta).source).to.deep.equal(first.source)

    portal.on(RESOURCE_SHOW, (_, response) => void response.writeHead(500).end())
    clock = began + 72 * HOUR_MS + 60_000
    await retrieveAgain()
    expect(service.reports.map(([event]) => event)).to.deep.equal(['dataset_retrieval_failed'])
    expect(await meta()).to.deep.include({ dataset_status: 'stale', source: first.source })
    expectRefusal(await buy(COMPANY), 'dataset_stale')
    expectRefusal(await buy(SYNTHETIC), 'payment_required')
    expect((await buy(COMPANY, payment)).text).to.equal(bought.text)

    portal.on(RESOURCE_SHOW, answers({ url: portal.url + ARCHIVE, last_modified: '2026-01-06T00:00:00' }))
    clock += HOUR_MS
    await retrieveAgain()
    const last = await meta()
    expect(last).to.deep.include({ dataset_status: 'ready', snapshot_id: first.snapshot_id })
    expect(last.source.source_updated_at).to.equal('2026-01-06T00:00:00.000Z')
    expectRefusal(await buy(COMPANY), 'payment_required')
  })
})
