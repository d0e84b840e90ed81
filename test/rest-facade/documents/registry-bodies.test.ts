/** The ERC-8004 registration file, checked against the text of the ERC. */
import { expect } from 'chai'
import {
  buildRegistrationFile,
  type CheckedIdentity,
  type PublishedAgent,
} from '../../../rest-facade/documents/registry-bodies.ts'
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
  checkedAt: '2026-01-01T00:00:01.000Z',
} as const
const agent = { owner: '0x', wallet: null, uri: { text: '', altered: false }, isUriExpected: true } as const
const registered: CheckedIdentity = { status: 'registered', agent, ...checked }

const file = buildRegistrationFile(publishedAgent, registered)
const [service, ...services] = file.services

/** Changes to the file. Each makes it invalid. */
const FAULTS: Record<string, object> = {
  'another type': { type: 'https://eips.ethereum.org/EIPS/eip-8004#registration-v2' },
  'no name': { name: undefined },
  'no description': { description: '' },
  'an image without URI': { image: 'logo.png' },
  'endpoints instead of services': { services: undefined, endpoints: file.services },
  'a service with other members': { services: [{ type: service?.name, url: service?.endpoint }, ...services] },
  'x402support with a small s': { x402Support: undefined, x402support: true },
  'an agent id as text': { registrations: [{ agentId: '0', agentRegistry }] },
  'a negative agent id': { registrations: [{ agentId: -1, agentRegistry }] },
  'an address without chain': { registrations: [{ agentId: 0, agentRegistry: agentRegistry.split(':')[2] }] },
  'a registration at the top level': { registrations: undefined, agentId: 0, agentRegistry },
  'another agent': { registrations: [{ agentId: 1, agentRegistry }] },
  'an agent of another chain': {
    registrations: [{ agentId: 0, agentRegistry: agentRegistry.replace('84532', '8453') }],
  },
  'no registrations': { registrations: [] },
  'an unknown trust model': { supportedTrust: ['hearsay'] },
}

describe('the registration file', () => {
  it('has the structure of ERC-8004 and names the agent, also with agent id 0', () => {
    expect(findRegistrationFaults(file, { agentId: 0, agentRegistry })).to.deep.equal([])
    expect(file.supportedTrust).to.deep.equal(['reputation'])
  })

  it('is checked by a function that finds every fault', () => {
    const onChain = { agentId: 0, agentRegistry }
    expect(findRegistrationFaults([file], onChain)).to.have.lengthOf.at.least(1)
    for (const [fault, change] of Object.entries(FAULTS))
      expect(findRegistrationFaults({ ...file, ...change }, onChain), fault).to.have.lengthOf.at.least(1)
  })

  it('claims no registration without confirmation by the chain', () => {
    const identities: CheckedIdentity[] = [
      { status: 'not_registered' },
      { status: 'not_found', ...checked },
      { status: 'owner_mismatch', agent, ...checked },
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
