/** The ERC-8004 registration file, checked against the text of the ERC. */
import { expect } from 'chai'
import type { RegistryIdentity } from '../../../agent/registry/registry.ts'
import { buildRegistrationFile, type PublishedAgent } from '../../../rest-facade/documents/registry-bodies.ts'
import { findRegistrationFaults } from '../../support/registration-check.ts'

const agentRegistry = 'eip155:84532:0x8004A818BFB912233c491871b3d84c89A494BD9e'
const publishedAgent: PublishedAgent = {
  baseUrl: 'https://companies.example',
  a2aEnabled: true,
  payTo: '0x',
  agentId: 0n,
}
const checked = {
  block: { number: 1, hash: `0x${'1'.repeat(64)}`, timestamp: '2026-01-01T00:00:00.000Z' },
  checked_at: '2026-01-01T00:00:01.000Z',
} as const
const agent = { owner: '0x', wallet: null, uri: '', isUriExpected: true } as const
const registered: RegistryIdentity = { status: 'registered', agent, checked }

const file = buildRegistrationFile(publishedAgent, registered)

describe('the registration file', () => {
  it('has the structure of ERC-8004 and names the agent, also with agent id 0', () => {
    expect(findRegistrationFaults(file, { agentId: 0, agentRegistry })).to.deep.equal([])
    expect(file.supportedTrust).to.deep.equal(['reputation'])
  })

  it('claims no registration without confirmation by the chain', () => {
    const identities: RegistryIdentity[] = [
      { status: 'not_registered' },
      { status: 'not_found', checked },
      { status: 'owner_mismatch', agent, checked },
    ]
    for (const identity of identities) {
      const unconfirmed = buildRegistrationFile(publishedAgent, identity)
      expect(findRegistrationFaults(unconfirmed)).to.deep.equal([])
      expect(unconfirmed).to.deep.include({ registrations: [], supportedTrust: [] })
      expect(unconfirmed.registryStatus.status).to.equal(identity.status)
    }
  })

  it('has the A2A service only if A2A is enabled', () => {
    const names = (a2aEnabled: boolean) =>
      buildRegistrationFile({ ...publishedAgent, a2aEnabled }, registered).services.map(({ name }) => name)
    expect(names(true)).to.deep.equal(['web', 'A2A', 'OpenAPI'])
    expect(names(false)).to.deep.equal(['web', 'OpenAPI'])
  })

  it('has an inline SVG image', () => {
    const [kind, data = ''] = file.image.split(',')
    expect(kind).to.equal('data:image/svg+xml;base64')
    expect(Buffer.from(data, 'base64').toString()).to.match(/^<svg .*<\/svg>$/)
  })
})
