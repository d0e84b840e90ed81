/** Metrics and probes of a running service. */
import { expect } from 'chai'
import { startTestService, type TestService, type TestServiceOptions } from '../../support/service.ts'
import { buyOverTransports } from '../../support/transports.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describe('the admin address', function () {
  this.timeout(60_000)
  let service: TestService

  const start = async (options: TestServiceOptions = {}) => {
    service = await startTestService({ ...options, environment: { ADMIN_PORT: '0', ...options.environment } })
  }
  afterEach(() => service.stop())

  const requests = () => buyOverTransports(() => service)
  const adminFetch = (path: string, options?: RequestInit) => fetch(`${service.adminUrl}${path}`, options)

  /** The value of a sample, 0 without one. */
  async function sample(name: string, labels: Record<string, string> = {}): Promise<number> {
    const text = await (await adminFetch('/metrics')).text()
    for (const line of text.split('\n')) {
      const [, found, labelText = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      const hasLabels = Object.entries(labels).every(([key, label]) => labelText.includes(`${key}="${label}"`))
      if (found === name && hasLabels) return Number(value)
    }
    return 0
  }

  const readiness = async () => {
    const response = await adminFetch('/readyz')
    return { status: response.status, ...((await response.json()) as { ready: boolean; checks: object }) }
  }

  it('counts requests, steps and states of a sale', async () => {
    await start()
    await requests().buy((payment) => requests().lookup('00000000', payment))
    const route = '/api/v1/company'
    expect(await sample('company_agent_http_requests_total', { route, method: 'GET', status: '402' })).to.equal(1)
    expect(await sample('company_agent_http_requests_total', { route, method: 'GET', status: '200' })).to.equal(1)
    expect(await sample('company_agent_http_request_duration_seconds_count', { route })).to.equal(2)
    for (const step of ['log_claim', 'facilitator_verify', 'facilitator_settle', 'chain_head'])
      expect(await sample('company_agent_step_duration_seconds_count', { step, result: 'done' }), step).to.be.at.least(
        1,
      )
    for (const state of ['prepared', 'settled'])
      expect(await sample('company_agent_payment_transitions_total', { state }), state).to.equal(1)
    expect(await sample('company_agent_open_payments', { state: 'settled' })).to.equal(1)
    expect(await sample('company_agent_rate_limit_slots', { kind: 'paid' })).to.be.at.least(1)
    expect(await sample('company_agent_rate_limit_slots_max')).to.equal(10_000)
    expect(await sample('company_agent_dataset_companies')).to.be.greaterThan(0)
  })

  it('shows the age of the oldest open payment and of the dataset', async () => {
    let laterMs = 0
    await start({ now: () => new Date(Date.now() + laterMs) })
    await requests().buy((payment) => requests().lookup('00000000', payment))
    laterMs = DAY_MS
    for (const name of ['company_agent_oldest_open_payment_age_seconds', 'company_agent_dataset_age_seconds'])
      expect(await sample(name), name).to.be.within(DAY_MS / 1000, DAY_MS / 1000 + 600)
  })

  it('counts log events and failed calls', async () => {
    await start({
      replaceExternals: (own) => ({
        ...own,
        facilitator: { ...own.facilitator, verify: () => Promise.reject(new Error('down')) },
      }),
    })
    const reply = await requests().buy((payment) => requests().lookup('00000000', payment))
    expect(reply.status).to.equal(503)
    expect(await sample('company_agent_events_total', { event: 'verification_unclear' })).to.equal(1)
    const failed = { step: 'facilitator_verify', result: 'failed' }
    expect(await sample('company_agent_step_duration_seconds_count', failed)).to.equal(1)
  })

  it('counts unknown paths and methods as one route each', async () => {
    await start()
    for (const path of ['/a', '/b', '/docs/x', '/api/v1/company']) await requests().get(path)
    await requests().get('/docs/', undefined, { method: 'PUT' })
    expect(await sample('company_agent_http_requests_total', { route: 'other', status: '404' })).to.equal(4)
    expect(await sample('company_agent_http_requests_total', { route: '/docs', method: 'other' })).to.equal(1)
  })

  it('is ready with a fresh dataset, and not ready with a stale one', async () => {
    let laterMs = 0
    await start({ now: () => new Date(Date.now() + laterMs) })
    const all = { dataset: true, response_log: true, chain: true, running: true }
    expect(await readiness()).to.deep.equal({ status: 200, ready: true, checks: all })
    laterMs = 4 * DAY_MS
    expect(await readiness()).to.deep.equal({ status: 503, ready: false, checks: { ...all, dataset: false } })
    expect((await adminFetch('/livez')).status).to.equal(200)
  })

  it('is not ready when the chain does not answer', async () => {
    await start({
      replaceExternals: (own) => ({ ...own, chain: { ...own.chain, head: () => Promise.reject(new Error('down')) } }),
    })
    expect(await readiness()).to.deep.include({ status: 503, ready: false })
  })

  it('refuses other paths and methods', async () => {
    await start()
    expect((await adminFetch('/')).status).to.equal(404)
    expect((await adminFetch('/metrics', { method: 'POST' })).status).to.equal(405)
    expect((await fetch(`${service.url}/metrics`)).status).to.equal(404)
  })

  it('does not exist without ADMIN_PORT', async () => {
    service = await startTestService()
    expect(service.adminUrl).to.equal('')
  })
})
