/** Spec 4.4 on a whole service: the sandbox has an identity to show, another can be configured, and mainnet has none. */
import { expect } from 'chai'
import { termsOf } from '../../agent/payments/terms.ts'
import { UNREGISTERED } from '../../agent/registry/registry.ts'
import { REVIEWER } from '../../agent/sandbox/register.ts'
import { createApp } from '../../rest-facade/app.ts'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CompanyAgentExecutor } from '../../agent/executor/agent-executor.ts'
import { expectRefusal, send } from '../support/raw-http.ts'
import { faultsOf } from '../support/registration-check.ts'
import { AgentFile, RegistrationFile, Reputation } from '../support/registry-schemas.ts'
import { testTerms } from '../support/payments.ts'
import { TestSeller } from '../support/seller.ts'
import { startTestService, type TestService, type TestServiceOptions } from '../support/service.ts'

const PATHS = ['/.well-known/agent-registration.json', '/agent.json', `/api/v1/reputation?client=${REVIEWER}`]

describe('the registry identity of a service', () => {
  const services: TestService[] = []
  afterEach(async () => {
    for (const service of services.splice(0)) await service.stop()
  })
  const start = async (options: TestServiceOptions = {}) => {
    const service = await startTestService(options)
    services.push(service)
    return service
  }

  /** The three bodies, each as its description has it. */
  async function read({ url }: { url: string }) {
    const [file, agent, page] = await Promise.all(PATHS.map((path) => send({ url, path })))
    return {
      file: RegistrationFile.parse(file?.json),
      agent: AgentFile.parse(agent?.json),
      page: Reputation.parse(page?.json),
    }
  }

  it('is there at once in the sandbox, under the address at which it is reached, and stays over a restart', async () => {
    const service = await start()
    const { file, agent, page } = await read(service)
    expect(agent).to.deep.include({
      status: 'registered',
      agent_wallet_is_pay_to: true,
      agent_uri: `${service.url}/.well-known/agent-registration.json`,
      agent_uri_matches: true,
    })
    expect(agent.owner).to.equal(service.payTo)
    const [registration = { agentId: -1, agentRegistry: '' }] = file.registrations
    expect(String(registration.agentId)).to.equal(agent.agent_id)
    expect(registration.agentRegistry).to.equal(agent.agent_registry)
    expect(faultsOf(file, registration)).to.deep.equal([])
    expect(file.services[0]).to.deep.equal({ name: 'web', endpoint: `${service.url}/docs` })
    expect(page.feedback.map(({ value, revoked }) => [value, revoked])).to.deep.equal([
      ['95', false],
      ['20', true],
      ['9977', false],
    ])

    await service.restart()
    const after = await read(service)
    expect(after.agent.agent_id).to.equal(agent.agent_id)
    expect(after.agent.agent_uri_matches).to.equal(true)
    expect(after.page.last_index).to.equal(3)
  })

  it('is the configured one', async () => {
    const { payTo, url } = await start()
    const id = (await read({ url })).agent.agent_id ?? ''
    const stranger = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
    const CASES: [environment: Record<string, string>, status: string][] = [
      [{ ERC8004_AGENT_ID: id, ERC8004_OWNER: payTo }, 'registered'],
      [{ ERC8004_AGENT_ID: id, ERC8004_OWNER: stranger }, 'owner_mismatch'],
      [{ ERC8004_AGENT_ID: '123456789' }, 'not_found'],
    ]
    for (const [environment, status] of CASES) {
      const { file, agent, page } = await read(await start({ environment }))
      expect([file.registryStatus.status, agent.status, page.status]).to.deep.equal([status, status, status])
    }
  })

  it('is 503 while the chain cannot be read, and the rest of the service goes on', async () => {
    const nobody = { rpcUrl: 'http://127.0.0.1:1', register: async () => ({ agentId: 0n, owner: undefined }) }
    const service = await start({ doors: (doors) => ({ ...doors, registry: nobody }) })
    for (const path of PATHS) expectRefusal(await send({ url: service.url, path }), 'registry_unchecked')
    expectRefusal(await send({ url: service.url, path: `${PATHS[1]}?a=1` }), 'invalid_query')
    expect(service.reports.map(([event]) => event)).to.deep.equal(['registry_unread'])
    expect((await send({ url: service.url, path: '/api/v1/meta' })).status).to.equal(200)
    expectRefusal(await send({ url: service.url, path: '/api/v1/company/73848' }), 'payment_required')
  })

  it('is nowhere on mainnet, whatever is asked', async () => {
    const seller = await TestSeller.open()
    const terms = termsOf('mainnet', testTerms.payTo)
    const executor = new CompanyAgentExecutor({ seller: seller.seller, baseUrl: 'https://companies.example', help: '' })
    const facts = {
      version: '0.1.0',
      terms,
      onSale: [],
      rateLimitPerMinute: 1,
      catalog: seller.seller.catalog,
    }
    const app = createApp({
      executor,
      baseUrl: 'https://companies.example',
      facts: { ...facts, now: () => new Date() },
      jwks: {},
      pages: new Map(),
      registry: UNREGISTERED,
      report: () => undefined,
    })
    const server = createServer(app)
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      for (const path of [...PATHS, '/agent.json?a=1', '/api/v1/reputation'])
        for (const method of ['GET', 'POST']) expectRefusal(await send({ url, path, method }), 'not_found')
    } finally {
      await new Promise((resolve) => void server.close(resolve))
      await seller.close()
    }
  })
})
