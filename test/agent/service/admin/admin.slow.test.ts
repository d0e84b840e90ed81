/** Metrics and probes of a running service. */
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { generatePrivateKey } from 'viem/accounts'
import { DAY_MS } from '../../../../base/day.ts'
import { checksWith } from '../../../../agent/service/checks/table.ts'
import { migrateDatabase } from '../../../../store/log/postgres/schema.ts'
import { listen } from '../../../support/listen.ts'
import { mountDisk } from '../../../support/mount.ts'
import { findPostgres, initialiseServer, launchServer, makeServerFolder } from '../../../support/postgres.ts'
import { header } from '../../../support/payments.ts'
import { openFactory, wrap } from '../../../support/wallets.ts'
import { startTestService, type TestService, type TestServiceOptions } from '../../../support/service.ts'
import { manualTimer, shortTimers } from '../../../support/timers.ts'
import { buyOverTransports } from '../../../support/transports.ts'

describe('the admin address', function () {
  this.timeout(240_000)
  let service: TestService

  const start = async (options: TestServiceOptions = {}) => {
    // The time limits of the admin address are as short as pauses.
    service = await startTestService({
      timer: shortTimers,
      ...options,
      environment: { ADMIN_PORT: '0', ...options.environment },
    })
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

  it('counts requests and steps of a sale', async () => {
    await start()
    await requests().buy((payment) => requests().lookup('00000000', payment))
    const route = '/api/v1/company'
    expect(await sample('company_agent_http_requests_total', { route, method: 'GET', status: '402' })).to.equal(1)
    expect(await sample('company_agent_http_requests_total', { route, method: 'GET', status: '200' })).to.equal(1)
    expect(await sample('company_agent_http_request_duration_seconds_count', { route })).to.equal(2)
    for (const step of ['log_claim', 'facilitator_verify', 'facilitator_settle', 'chain_observe'])
      expect(await sample('company_agent_step_duration_seconds_count', { step, result: 'done' }), step).to.be.at.least(
        1,
      )
    expect(await sample('company_agent_open_payments', { state: 'settled' })).to.equal(1)
    expect(await sample('company_agent_sales_last_minute')).to.be.at.least(1)
  })

  it('counts outcomes by operation, over all transports', async () => {
    await start()
    const { a2a, buy, search } = requests()
    await buy((payment) => search('q=example%20trading', payment))
    await a2a({ operation: 'search', input: { q: 'example trading' } })
    await a2a({ operation: 'lookup', input: { company_number: '00000000' } })
    const outcomes = (operation: string, outcome: string) =>
      sample('company_agent_operation_outcomes_total', { operation, outcome })
    expect(await outcomes('search', 'answer')).to.equal(1)
    expect(await outcomes('search', 'payment_required')).to.equal(2)
    expect(await outcomes('lookup', 'payment_required')).to.equal(1)
  })

  it('counts unknown paths and methods as one route each', async () => {
    await start()
    for (const path of ['/a', '/b', '/docs/x', '/api/v1/company']) await requests().get(path)
    await requests().get('/docs/', undefined, { method: 'PUT' })
    expect(await sample('company_agent_http_requests_total', { route: 'other', status: '404' })).to.equal(4)
    expect(await sample('company_agent_http_requests_total', { route: '/docs', method: 'other' })).to.equal(1)
  })

  it('[14.12] is ready with a fresh dataset, and not ready with a stale one', async () => {
    let laterMs = 0
    await start({ now: () => new Date(Date.now() + laterMs) })
    const all = Object.fromEntries(checksWith('unready').map((name) => [name, true]))
    expect(await readiness()).to.deep.equal({ status: 200, ready: true, checks: all })
    laterMs = 4 * DAY_MS
    expect(await readiness()).to.deep.equal({ status: 503, ready: false, checks: { ...all, dataset: false } })
    expect((await adminFetch('/livez')).status).to.equal(200)
  })

  it('[14.12] is not ready when the chain does not answer, which a scrape shows ten seconds later', async () => {
    let isDown = false
    let laterMs = 0
    await start({
      clock: () => performance.now() + laterMs,
      replaceExternals: ({ chain, ...own }) => ({
        ...own,
        chain: {
          ...chain,
          observe: (...call) => (isDown ? Promise.reject(new Error('down')) : chain.observe(...call)),
        },
      }),
    })
    const shown = () => sample('company_agent_check_ok', { check: 'chain', severity: 'critical' })
    expect(await shown()).to.equal(1)
    isDown = true
    expect(await shown()).to.equal(1)
    laterMs = 10_001
    expect(await shown()).to.equal(0)
    laterMs += 60_000
    expect(await sample('company_agent_check_failing_seconds', { check: 'chain' })).to.be.within(60, 70)
    expect(await readiness()).to.deep.include({ status: 503, ready: false })
    isDown = false
    laterMs += 10_001
    expect(await shown()).to.equal(1)
  })

  it('[14.12] calls a facilitator that fails once a minute', async () => {
    let calls = 0
    using facilitator = await listen(
      createServer((request, response) => {
        calls += Number(request.url === '/supported')
        response.writeHead(500).end()
      }),
    )
    let laterMs = 0
    const facilitators = [{ url: facilitator.url, authorization: async () => undefined }]
    await start({
      clock: () => performance.now() + laterMs,
      configure: (config) => ({
        ...config,
        facilitator: { kind: 'remote', facilitators, rpcUrls: ['http://127.0.0.1:9'], payTo: `0x${'c7'.repeat(20)}` },
      }),
    })
    for (let scrapes = 0; scrapes < 4; scrapes += 1) {
      await sample('company_agent_check_ok')
      laterMs += 15_000
    }
    expect(calls).to.equal(1)
    await readiness()
    expect(calls).to.equal(1)
  })

  it('[14.12] calls sales failing for a payment that is good, and not for one that a buyer can prevent', async () => {
    let laterMs = 0
    const verify = () => Promise.reject(new Error('down'))
    await start({
      clock: () => performance.now() + laterMs,
      replaceExternals: ({ facilitator, ...own }) => ({ ...own, facilitator: { ...facilitator, verify } }),
    })
    const { lookup, buy } = requests()
    const shown = async () => {
      laterMs += 10_001
      return sample('company_agent_check_ok', { check: 'sales', severity: 'critical' })
    }
    const quote = (await lookup('00000000')).headers['payment-required'] as string
    const withoutMoney = await service.pay(quote, { key: generatePrivateKey() })
    expect((await lookup('00000000', withoutMoney)).status).to.equal(503)
    const { makeWallet } = await openFactory({ url: service.rpcUrl, relayer: service.buyer.address })
    const { sign, deployment } = await makeWallet(generatePrivateKey())
    const { accepts } = decodePaymentRequiredHeader(quote)
    const ofNewWallet = wrap(await sign({ requirements: accepts[0]! }), deployment)
    expect((await lookup('00000000', header(ofNewWallet))).status).to.equal(503)
    expect(service.reports.map(([event]) => event)).to.include('facilitator_unanswered')
    expect(await shown()).to.equal(1)
    expect((await buy((payment) => lookup('00000000', payment))).status).to.equal(503)
    expect(await shown()).to.equal(0)
  })

  it('[14.12] does not stop the start if its default port is in use, and does if its configured port is', async () => {
    await start()
    const port = Number(new URL(service.adminUrl).port)
    const taken = (isDefaultPort: boolean) =>
      startTestService({ configure: (config) => ({ ...config, admin: { host: '127.0.0.1', port, isDefaultPort } }) })
    const second = await taken(true)
    expect(second.adminUrl).to.equal('')
    expect(second.reports.map(([event]) => event)).to.deep.equal(['admin_port_unusable'])
    await second.stop()
    const refused = await taken(false).catch((cause: unknown) => cause)
    const rule = 'ADMIN_PORT must be a free port, and ADMIN_HOST an address of this machine'
    expect(refused).to.include({ message: `${rule}: another program uses ${port}` })
  })

  it('is ready while a check that has passed is late, until its time limit of 15 seconds', async () => {
    let isSilent = false
    const limits = manualTimer((milliseconds) => milliseconds === 15_000)
    await start({
      timer: (callback, milliseconds) =>
        milliseconds === 15_000 ? limits.timer(callback, milliseconds) : shortTimers(callback, milliseconds),
      replaceExternals: ({ chain, ...own }) => {
        const observe: typeof chain.observe = (...call) =>
          isSilent ? new Promise(() => undefined) : chain.observe(...call)
        return { ...own, chain: { ...chain, observe } }
      },
    })
    expect(await readiness()).to.include({ status: 200 })
    isSilent = true
    expect(await readiness()).to.include({ status: 200 })
    expect(await readiness()).to.include({ status: 200 })
    limits.pass()
    expect(await readiness()).to.deep.nested.include({ status: 503, 'checks.chain': false })
  })

  it('is not ready while the disk of PostgreSQL is full, and ready again afterwards', async function () {
    const folder = await makeServerFolder()
    // An empty server of PostgreSQL almost fills it.
    const disk = await mountDisk(folder, 'size=96m,uid=65534,gid=65534,mode=0700')
    if (findPostgres() === undefined || !disk) {
      await start()
      return this.skip()
    }
    const data = join(folder, 'data')
    await initialiseServer(data)
    const server = await launchServer({ data, sockets: folder })
    try {
      const url = `postgres://test@localhost/postgres?host=${folder}`
      await migrateDatabase(url)
      await start({ environment: { RESPONSE_LOG: url } })
      expect(await readiness()).to.have.nested.property('checks.response log', true)
      // It fails at the end of the disk.
      await promisify(execFile)('dd', ['if=/dev/zero', `of=${join(folder, 'filler')}`, 'bs=4k']).catch(() => undefined)
      expect(await readiness()).to.deep.include({ status: 503, ready: false })
      expect(await readiness()).to.deep.nested.include({ 'checks.response log': false, 'checks.chain': true })
      await rm(join(folder, 'filler'))
      expect(await readiness()).to.have.nested.property('checks.response log', true)
    } finally {
      await server.kill()
      await disk.unmount()
    }
  })
})
