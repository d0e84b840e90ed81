/** The registration file holds what ERC-8004 demands, judged by a check that is written from its text and finds faults. */
import { expect } from 'chai'
import type { Identity } from '../../agent/registry/identity.ts'
import { registrationFile } from '../../rest-facade/registration.ts'
import { faultsOf } from '../support/registration-check.ts'

const agentRegistry = 'eip155:84532:0x8004A818BFB912233c491871b3d84c89A494BD9e'
const publication = { baseUrl: 'https://companies.example', a2aEnabled: true, agentId: 0n, agentRegistry }

const seen = {
  block: { number: 1, hash: `0x${'1'.repeat(64)}`, timestamp: '2026-01-01T00:00:00.000Z' },
  checkedAt: '2026-01-01T00:00:01.000Z',
} as const
const agent = { owner: '0x', wallet: null, uri: { text: '', altered: false }, isUriExpected: true } as const
const registered: Identity = { status: 'registered', agent, ...seen }

const file = registrationFile(publication, registered)
const [service, ...services] = file.services

const BROKEN: [name: string, file: unknown][] = [
  ['no object', [file]],
  ['another type', { ...file, type: 'https://eips.ethereum.org/EIPS/eip-8004#registration-v2' }],
  ['no name', { ...file, name: undefined }],
  ['no description', { ...file, description: '' }],
  ['an image that is no URI', { ...file, image: 'logo.png' }],
  ['endpoints in the place of services', { ...file, services: undefined, endpoints: file.services }],
  ['a service of another form', { ...file, services: [{ type: service?.name, url: service?.endpoint }, ...services] }],
  ['a small s', { ...file, x402Support: undefined, x402support: true }],
  ['a number as text', { ...file, registrations: [{ agentId: '0', agentRegistry }] }],
  ['a negative number', { ...file, registrations: [{ agentId: -1, agentRegistry }] }],
  ['a bare address', { ...file, registrations: [{ agentId: 0, agentRegistry: agentRegistry.split(':')[2] }] }],
  ['a registration at the top', { ...file, registrations: undefined, agentId: 0, agentRegistry }],
  ['another agent', { ...file, registrations: [{ agentId: 1, agentRegistry }] }],
  [
    'an agent of another chain',
    { ...file, registrations: [{ agentId: 0, agentRegistry: agentRegistry.replace('84532', '8453') }] },
  ],
  ['no registrations', { ...file, registrations: [] }],
  ['a trust model that there is not', { ...file, supportedTrust: ['hearsay'] }],
]

describe('the registration file', () => {
  it('is what the ERC demands, and names the agent, whose number may be 0', () => {
    expect(faultsOf(file, { agentId: 0, agentRegistry })).to.deep.equal([])
    expect(file.supportedTrust).to.deep.equal(['reputation'])
  })

  for (const [name, broken] of BROKEN) {
    it(`would not pass with ${name}`, () => {
      expect(faultsOf(broken, { agentId: 0, agentRegistry })).to.have.lengthOf.at.least(1)
    })
  }

  it('claims no registration that the chain does not confirm, and stays valid', () => {
    const identities: Identity[] = [
      { status: 'not_registered' },
      { status: 'not_found', ...seen },
      { status: 'owner_mismatch', agent, ...seen },
    ]
    for (const identity of identities) {
      const silent = registrationFile(publication, identity)
      expect(faultsOf(silent)).to.deep.equal([])
      expect(silent.registrations).to.deep.equal([])
      expect(silent.supportedTrust).to.deep.equal([])
      expect(silent.registryStatus.status).to.equal(identity.status)
    }
  })

  it('names the A2A service only where there is one', () => {
    const names = (a2aEnabled: boolean) =>
      registrationFile({ ...publication, a2aEnabled }, registered).services.map(({ name }) => name)
    expect(names(true)).to.deep.equal(['web', 'A2A', 'OpenAPI'])
    expect(names(false)).to.deep.equal(['web', 'OpenAPI'])
  })

  it('has an image that needs no other request', () => {
    const [kind, data = ''] = file.image.split(',')
    expect(kind).to.equal('data:image/svg+xml;base64')
    expect(Buffer.from(data, 'base64').toString()).to.match(/^<svg .*<\/svg>$/)
  })
})
