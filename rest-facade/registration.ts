/** The registration file of ERC-8004, which is also what the agent's URI in the identity registry points to. */
import type { Identity } from '../agent/registry/identity.ts'
import type { Block } from '../agent/registry/reader.ts'

export const REGISTRATION_PATH = '/.well-known/agent-registration.json'

/** A page with a round seal; the specification has no route for an image. */
const IMAGE = [
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="10" fill="#14532d"/>',
  '<path d="M18 10h28v44H18z" fill="#fff"/><path d="M23 18h18v3H23zm0 7h18v3H23zm0 7h12v3H23z" fill="#14532d"/>',
  '<circle cx="41" cy="43" r="8" fill="#ea580c"/></svg>',
].join('')

export interface Publication {
  baseUrl: string
  a2aEnabled: boolean
  agentId: bigint | undefined
  /** `eip155:<chain id>:<address>` of the identity registry. */
  agentRegistry: string
}

export function registrationFile({ baseUrl, a2aEnabled, agentId, agentRegistry }: Publication, identity: Identity) {
  // Only what the chain confirms is claimed.
  const isRegistered = identity.status === 'registered'
  return {
    type: 'https://eips.ethereum.org/EIPS/eip-8004#registration-v1',
    name: 'Irish Company Lookup (testnet)',
    description:
      'Looks up, searches and resolves Irish companies in the open dataset of the companies registry, paid per request ' +
      'with x402 v2 in test USDC on Base Sepolia. Not an official registry service.',
    image: `data:image/svg+xml;base64,${Buffer.from(IMAGE).toString('base64')}`,
    services: [
      { name: 'web', endpoint: `${baseUrl}/docs` },
      ...(a2aEnabled ? [{ name: 'A2A', endpoint: `${baseUrl}/.well-known/agent-card.json`, version: '1.0' }] : []),
      { name: 'OpenAPI', endpoint: `${baseUrl}/openapi.json`, version: '3.1.0' },
    ],
    x402Support: true,
    active: true,
    registrations: isRegistered ? [{ agentId: Number(agentId), agentRegistry }] : [],
    supportedTrust: isRegistered ? ['reputation'] : [],
    registryStatus: { status: identity.status, ...seenOf(identity) },
  }
}

/** When and in which block the chain said so; nothing where it was not asked. */
function seenOf(identity: Identity): { block?: Block; checked_at?: string } {
  return 'block' in identity ? { block: identity.block, checked_at: identity.checkedAt } : {}
}
