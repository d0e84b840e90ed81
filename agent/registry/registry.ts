/** The agent's entries in the ERC-8004 registries, as the routes read them. */
import type { Report, Timer } from '../../store/base/runtime.ts'
import type { Client } from '../limits/address-budget.ts'
import { openRpcBatch } from '../rpc/json-rpc.ts'
import { FeedbackCache, type FeedbackOutcome } from './feedback-cache.ts'
import { IdentityMonitor, type RegistryIdentity } from './identity.ts'
import { openRegistryReader, type FeedbackQuery } from './reader.ts'

/** The configured agent id in the identity registry, and its expected owner. */
export interface ConfiguredAgent {
  /** May be 0. */
  agentId: bigint
  owner: string | undefined
}

export interface Registry {
  /** Undefined if no agent is configured. Then the chain is never read. */
  agentId: bigint | undefined
  identity(): RegistryIdentity
  page(query: FeedbackQuery, client: Client): Promise<FeedbackOutcome>
  stop(): void
}

interface RegistryOptions extends ConfiguredAgent {
  /** The JSON-RPC URL of the node. */
  url: string
  chainId: number
  /** The expected URI of the agent on chain. */
  agentUri: string
  now: () => Date
  random: () => number
  timer: Timer
  report: Report
}

/** Resolves after the first read of the identity, or after its time limit. Never rejects. */
export async function openRegistry(options: RegistryOptions): Promise<Registry> {
  const reader = openRegistryReader({ ...options, batch: openRpcBatch(options) })
  const monitor = new IdentityMonitor({ ...options, reader })
  const feedback = new FeedbackCache({ ...options, reader })
  await monitor.start()
  return {
    agentId: options.agentId,
    identity: () => monitor.current(),
    page: (query, client) => feedback.get(query, client),
    stop: () => monitor.stop(),
  }
}

/** The registry of a service without a configured agent. */
export const UNREGISTERED: Registry = {
  agentId: undefined,
  identity: () => ({ status: 'not_registered' }),
  page: async () => ({ kind: 'unread' }),
  stop: () => undefined,
}
