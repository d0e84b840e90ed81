/** The ERC-8004 routes of a whole service (contract 4.4.6 to 4.4.8). test/rest-facade has their details. */
import { expect } from 'chai'
import { REVIEWER } from '../../agent/sandbox/registries.ts'
import { REGISTRY_SCHEMAS } from '../../rest-facade/registry/bodies.ts'
import { MAINNET, startFakedService } from '../support/faked-service.ts'
import { expectRefusal, send } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'

const PATHS = ['/.well-known/agent-registration.json', '/agent.json', `/api/v1/reputation?client=${REVIEWER}`]

describe('the registry identity of a service', () => {
  /** The bodies of the three routes. */
  async function read({ url }: { url: string }) {
    const [file, agent, page] = await Promise.all(PATHS.map((path) => send({ url, path })))
    return {
      file: REGISTRY_SCHEMAS.RegistrationFile.parse(file?.json),
      agent: REGISTRY_SCHEMAS.RegistryIdentity.parse(agent?.json),
      page: REGISTRY_SCHEMAS.ReputationPage.parse(page?.json),
    }
  }

  it('[4.4.6, 4.4.7] exists in the sandbox with the base URL of the service, also after a restart', async () => {
    const service = await startTestService()
    after(() => service.stop())
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
    expect(file.services[0]).to.deep.equal({ name: 'web', endpoint: `${service.url}/docs` })
    expect(page.feedback.map(({ value, revoked }) => [value, revoked])).to.deep.equal([
      ['95', false],
      ['20', true],
      ['9977', false],
    ])

    await service.restart()
    const again = await read(service)
    expect(again.agent.agent_id).to.equal(agent.agent_id)
    expect(again.agent.agent_uri_matches).to.equal(true)
    expect(again.page.last_index).to.equal(3)
  })

  it('[4.4.6] is not_registered without a configured identity', async () => {
    const service = await startFakedService()
    try {
      const { file, agent, page } = await read(service)
      expect([agent.status, page.status]).to.deep.equal(['not_registered', 'not_registered'])
      expect(file).to.deep.include({ registrations: [], registryStatus: { status: 'not_registered' } })
    } finally {
      await service.stop()
    }
  })

  it('[4.4.3, 4.7.1] is 404 on mainnet', async () => {
    const service = await startFakedService({ environment: { ...MAINNET, ERC8004_AGENT_ID: '1' } })
    const { url } = service
    try {
      for (const path of [...PATHS, '/agent.json?a=1', '/api/v1/reputation', '/testnet-client.py'])
        for (const method of ['GET', 'POST']) expectRefusal(await send({ url, path, method }), 'not_found')
    } finally {
      await service.stop()
    }
  })
})
