/** The agent's place in the registries of ERC-8004, as the service's routes ask for it. */
import type { Timer } from './deadline.ts'
import { IdentityKeeper, type Identity } from './identity.ts'
import { openReader, type PageQuery } from './reader.ts'
import { ReputationPages, type PageOutcome } from './reputation.ts'
import { openTransport } from './transport.ts'

/** Our number in the identity registry, and who should own it. */
export interface OwnIdentity {
  /** May be 0. */
  agentId: bigint
  owner: string | undefined
}

export interface Registry {
  /** Undefined when none is configured; then the chain is never asked. */
  agentId: bigint | undefined
  identity(): Identity
  page(query: PageQuery): Promise<PageOutcome>
  stop(): void
}

interface Opening extends OwnIdentity {
  /** JSON-RPC of the chain, and the id it has to have. */
  url: string
  chainId: number
  /** What the agent's URI on the chain should be. */
  agentUri: string
  fetch: typeof fetch
  now: () => Date
  random: () => number
  timer: Timer
  report: (event: string, cause: unknown) => void
}

/** Done when the identity was read for the first time, or could not be in its time. Never throws. */
export async function openRegistry(opening: Opening): Promise<Registry> {
  const { agentId } = opening
  const reader = openReader({ ...opening, send: openTransport(opening) })
  const keeper = new IdentityKeeper({ ...opening, reader })
  const pages = new ReputationPages({ ...opening, reader })
  await keeper.start()
  return {
    agentId,
    identity: () => keeper.current(),
    page: (query) => pages.get(query),
    stop: () => keeper.stop(),
  }
}

/** Nobody's identity: every route says so, and nothing is read. */
export const UNREGISTERED: Registry = {
  agentId: undefined,
  identity: () => ({ status: 'not_registered' }),
  page: async () => ({ kind: 'unread' }),
  stop: () => undefined,
}
