/** The bodies of the three registry routes, written from their description: every member required, and no other. */
import { z } from 'zod'

const Hash = z.string().regex(/^0x[0-9a-f]{64}$/)
const Address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const Registry = z.string().regex(/^eip155:84532:0x[0-9a-fA-F]{40}$/)
const Block = z.strictObject({ number: z.int().min(0), hash: Hash, timestamp: z.iso.datetime() })
const Decimal = z.string().regex(/^(0|-?[1-9][0-9]*)$/)
const Status = z.enum(['registered', 'not_registered', 'not_found', 'owner_mismatch'])

export const AgentFile = z.strictObject({
  status: Status,
  network: z.literal('eip155:84532'),
  agent_id: Decimal.nullable(),
  agent_registry: Registry,
  reputation_registry: Registry,
  owner: Address.nullable(),
  agent_wallet: Address.nullable(),
  agent_wallet_is_pay_to: z.boolean().nullable(),
  agent_uri: z.string().nullable(),
  agent_uri_matches: z.boolean().nullable(),
  registration_file: z.url(),
  block: Block.nullable(),
  checked_at: z.iso.datetime().nullable(),
})

export const Reputation = z.strictObject({
  status: Status,
  agent_id: Decimal.nullable(),
  agent_registry: Registry,
  reputation_registry: Registry,
  client: Address,
  start: z.int().min(1),
  limit: z.int().min(1).max(10),
  last_index: z.int().min(0).nullable(),
  next_start: z.int().min(2).nullable(),
  feedback: z
    .array(
      z.strictObject({
        index: z.int().min(1),
        value: Decimal,
        value_decimals: z.int().min(0).max(18),
        tag1: z.string(),
        tag2: z.string(),
        tags_altered: z.boolean(),
        revoked: z.boolean(),
      }),
    )
    .max(10),
  block: Block.nullable(),
  checked_at: z.iso.datetime().nullable(),
  notice: z.string(),
})

export const RegistrationFile = z.strictObject({
  type: z.literal('https://eips.ethereum.org/EIPS/eip-8004#registration-v1'),
  name: z.string(),
  description: z.string(),
  image: z.string().startsWith('data:image/svg+xml;base64,'),
  services: z.array(z.strictObject({ name: z.string(), endpoint: z.url(), version: z.string().optional() })),
  x402Support: z.literal(true),
  active: z.literal(true),
  registrations: z.array(z.strictObject({ agentId: z.int().min(0), agentRegistry: Registry })),
  supportedTrust: z.array(z.string()),
  registryStatus: z.strictObject({
    status: Status,
    block: Block.optional(),
    checked_at: z.iso.datetime().optional(),
  }),
})
