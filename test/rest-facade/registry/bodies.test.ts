/** The services and the image of the ERC-8004 registration file. */
import { expect } from 'chai'
import type { RegistryIdentity } from '../../../rest-facade/registry/registry.ts'
import { buildRegistrationFile, type PublishedAgent } from '../../../rest-facade/registry/bodies.ts'

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
  it('has the A2A service only if A2A is enabled', () => {
    const names = (a2aEnabled: boolean) =>
      buildRegistrationFile({ ...publishedAgent, a2aEnabled }, registered).services.map(({ name }) => name)
    expect(names(true)).to.deep.equal(['web', 'A2A', 'MCP', 'OpenAPI'])
    expect(names(false)).to.deep.equal(['web', 'MCP', 'OpenAPI'])
  })

  it('has an inline SVG image', () => {
    const [kind, data = ''] = file.image.split(',')
    expect(kind).to.equal('data:image/svg+xml;base64')
    expect(Buffer.from(data, 'base64').toString()).to.match(/^<svg .*<\/svg>$/)
  })
})
