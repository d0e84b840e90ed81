/**
 * The agent's entries in the ERC-8004 registries, read from the chain on demand. Results are kept for some seconds, and
 * concurrent requests share one read. The budget of the client pays for a read, and few reads run at once.
 */
import { LRUCache } from 'lru-cache'
import type { Report, Timer } from '../../store/base/runtime.ts'
import { ALWAYS_OPEN, WEIGHTS, type Client } from '../../agent/sale/limits/address-budget.ts'
import { refused, type Computed } from '../../agent/operation/outcome.ts'
import { WorkQueue } from '../../agent/sale/limits/work-queue.ts'
import { withDeadline } from '../../agent/settlement/rpc/deadline.ts'
import { readIdentity, readPage } from './reader.ts'

export const REGISTRY_CACHE_SECONDS = 15
const CACHED_RESULTS_MAX = 512
/** For all calls of one read. */
const READ_MS_MAX = 3_000
const CONCURRENT_READS_MAX = 16

/** Without a configured agent, the chain is not read. */
export const NOT_REGISTERED = {
  status: 'not_registered',
  agent: undefined,
  checked: { block: null, checked_at: null },
} as const

export type RegistryIdentity = Awaited<ReturnType<typeof readIdentity>> | typeof NOT_REGISTERED

type FeedbackPage = Awaited<ReturnType<typeof readPage>>

/** The budget of the client does not pay for a read. The specification of the service names five seconds. */
export const BUSY = refused({ code: 'rate_limited', retryAfterSeconds: 5 })

export interface Registry {
  agentId: bigint
  identity(client: Client): Promise<Computed<RegistryIdentity>>
  page(query: Parameters<typeof readPage>[1], client: Client): Promise<Computed<FeedbackPage>>
}

type RegistryOptions = Parameters<typeof readIdentity>[0] & {
  /** Milliseconds of a clock that never goes back. */
  clock: () => number
  timer: Timer
  report: Report
}

export function openRegistry({ clock, timer, report, ...options }: RegistryOptions): Registry {
  const queue = new WorkQueue(CONCURRENT_READS_MAX)

  const lifetime = { ttl: REGISTRY_CACHE_SECONDS * 1000, ttlResolution: 0, perf: { now: clock } }
  const outcomes = new LRUCache<string, Promise<Computed<unknown>>>({ max: CACHED_RESULTS_MAX, ...lifetime })
  function readCached<Result>(
    { key, event, client }: { key: string; event: string; client: Client },
    read: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Computed<Result>> {
    const known = outcomes.get(key)
    // A key has results of one type.
    if (known) return known as Promise<Computed<Result>>
    if (client.budget.spend(WEIGHTS.remoteCall)) return Promise.resolve(BUSY)
    const readInTurn = async (): Promise<Computed<Result>> => {
      // Goes on without the client, because others share the read.
      using place = await queue.enter({ ...client, ...ALWAYS_OPEN })
      if (!place) return BUSY
      return { kind: 'computed', answer: await withDeadline({ timer, milliseconds: READ_MS_MAX }, read) }
    }
    const outcome = readInTurn().catch((cause: unknown) => {
      report(event, cause)
      return refused({ code: 'registry_unchecked' })
    })
    outcomes.set(key, outcome)
    void outcome.then(({ kind }) => kind === 'refused' && outcomes.delete(key))
    return outcome
  }

  return {
    agentId: options.agentId,
    identity: (client) =>
      readCached({ key: 'identity', event: 'registry_unread', client }, (signal) => readIdentity(options, signal)),
    page(query, client) {
      const key = `${query.client}:${query.start}:${query.limit}`
      return readCached({ key, event: 'reputation_unread', client }, (signal) => readPage(options, query, signal))
    },
  }
}
