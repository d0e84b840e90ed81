/** Whole answers of the three routes about ERC-8004's registries, of an agent that is registered and of one that isn't. */
import { REGISTRIES } from '../../agent/registry/contracts.ts'
import type { Deployment } from './deployment.ts'

const SEEN = {
  block: { number: 397, hash: `0x${'5e'.repeat(32)}`, timestamp: '2026-01-01T00:00:00.000Z' },
  checked_at: '2026-01-01T00:00:03.000Z',
}
const NOT_SEEN = { block: null, checked_at: null }
const REVIEWER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const NOTHING = {
  owner: null,
  agent_wallet: null,
  agent_wallet_is_pay_to: null,
  agent_uri: null,
  agent_uri_matches: null,
}

/** By the route's path, then by state. */
export function registryExamples({ baseUrl, terms }: Deployment): Map<string, Record<string, object>> {
  const agentRegistry = `${terms.network}:${REGISTRIES.identity}`
  const names = { agent_registry: agentRegistry, reputation_registry: `${terms.network}:${REGISTRIES.reputation}` }
  const file = `${baseUrl}/.well-known/agent-registration.json`

  const registration = {
    type: 'https://eips.ethereum.org/EIPS/eip-8004#registration-v1',
    name: 'Irish Company Lookup (testnet)',
    description: 'Looks up, searches and resolves Irish companies, paid per request with x402 v2.',
    image: 'data:image/svg+xml;base64,PHN2Zy8+',
    services: [
      { name: 'web', endpoint: `${baseUrl}/docs` },
      { name: 'A2A', endpoint: `${baseUrl}/.well-known/agent-card.json`, version: '1.0' },
      { name: 'OpenAPI', endpoint: `${baseUrl}/openapi.json`, version: '3.1.0' },
    ],
    x402Support: true,
    active: true,
  }
  const identity = {
    owner: terms.payTo,
    agent_wallet: terms.payTo,
    agent_wallet_is_pay_to: true,
    agent_uri: file,
    agent_uri_matches: true,
  }
  const page = { client: REVIEWER, start: 1, limit: 10 }
  const notice = 'Raw on-chain feedback of one reviewer. No aggregate score is computed.'
  const feedback = {
    index: 1,
    value: '95',
    value_decimals: 0,
    tag1: 'starred',
    tag2: 'lookup',
    tags_altered: false,
    revoked: false,
  }
  return new Map<string, Record<string, object>>([
    [
      '/.well-known/agent-registration.json',
      {
        registered: {
          ...registration,
          registrations: [{ agentId: 1, agentRegistry }],
          supportedTrust: ['reputation'],
          registryStatus: { status: 'registered', ...SEEN },
        },
        not_registered: {
          ...registration,
          registrations: [],
          supportedTrust: [],
          registryStatus: { status: 'not_registered' },
        },
      },
    ],
    [
      '/agent.json',
      {
        registered: {
          status: 'registered',
          network: terms.network,
          agent_id: '1',
          ...names,
          ...identity,
          registration_file: file,
          ...SEEN,
        },
        not_registered: {
          status: 'not_registered',
          network: terms.network,
          agent_id: null,
          ...names,
          ...NOTHING,
          registration_file: file,
          ...NOT_SEEN,
        },
      },
    ],
    [
      '/api/v1/reputation',
      {
        registered: {
          status: 'registered',
          agent_id: '1',
          ...names,
          ...page,
          last_index: 1,
          next_start: null,
          feedback: [feedback],
          ...SEEN,
          notice,
        },
        not_registered: {
          status: 'not_registered',
          agent_id: null,
          ...names,
          ...page,
          last_index: null,
          next_start: null,
          feedback: [],
          ...NOT_SEEN,
          notice,
        },
      },
    ],
  ])
}
