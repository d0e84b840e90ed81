/**
 * What the identity registry says of us, kept fresh in the background: requests read memory and wait for nothing. What
 * was read stands for a quarter of an hour of failures, and not a moment after the chain has contradicted the
 * configuration.
 */
import { inTime, type Timer } from './deadline.ts'
import { isContradiction } from './errors.ts'
import type { Agent, Block, Reader } from './reader.ts'

const REFRESH_MS = 60_000
/** Up to a tenth earlier or later, so that deployments don't ask in step. */
const REFRESH_JITTER = 0.1
const RETRY_MS = 5_000
/** Both batches of one reading. */
const READ_MS_MAX = 3_000
const AGE_MS_MAX = 900_000

interface Seen {
  block: Block
  checkedAt: string
}

export type Identity =
  /** No agent id is configured. */
  | { status: 'not_registered' }
  /** One is, and nothing trustworthy is known of it now. */
  | { status: 'unchecked' }
  /** The chain has no agent of that number. */
  | ({ status: 'not_found' } & Seen)
  | ({ status: 'owner_mismatch' | 'registered'; agent: Agent } & Seen)

interface Keeping {
  reader: Pick<Reader, 'identity'>
  /** Who has to own the agent, when that is configured. */
  owner: string | undefined
  now: () => Date
  /** From 0 to below 1. */
  random: () => number
  timer: Timer
  report: (event: string, cause: unknown) => void
}

export class IdentityKeeper {
  readonly #keeping: Keeping
  readonly #stopping = new AbortController()
  #latest: { identity: Identity; at: number } | undefined
  #cancel: () => void = () => undefined
  /** The last failure that was reported: the same one every five seconds is no news. */
  #reported = ''

  constructor(keeping: Keeping) {
    this.#keeping = keeping
  }

  current(): Identity {
    const age = this.#keeping.now().getTime() - (this.#latest?.at ?? Number.NaN)
    return this.#latest && age <= AGE_MS_MAX ? this.#latest.identity : { status: 'unchecked' }
  }

  /** The first reading, and from then on one after the other. Never throws. */
  async start(): Promise<void> {
    const { random, timer } = this.#keeping
    const read = await this.#refresh()
    if (this.#stopping.signal.aborted) return
    const wait = read ? REFRESH_MS * (1 + REFRESH_JITTER * (2 * random() - 1)) : RETRY_MS
    this.#cancel = timer(() => void this.start(), wait)
  }

  stop(): void {
    this.#stopping.abort()
    this.#cancel()
  }

  async #refresh(): Promise<boolean> {
    const { reader, timer, now } = this.#keeping
    const { signal } = this.#stopping
    try {
      const found = await inTime({ timer, milliseconds: READ_MS_MAX, signal }, (either) => reader.identity(either))
      const at = now()
      const seen = { block: found.block, checkedAt: at.toISOString() }
      this.#latest = { identity: this.#judge(found.agent, seen), at: at.getTime() }
      this.#reported = ''
      return true
    } catch (cause) {
      if (isContradiction(cause)) this.#latest = undefined
      if (!signal.aborted) this.#report(cause)
      return false
    }
  }

  #judge(agent: Agent | undefined, seen: Seen): Identity {
    if (!agent) return { status: 'not_found', ...seen }
    const { owner } = this.#keeping
    const isTheirs = owner !== undefined && owner.toLowerCase() !== agent.owner.toLowerCase()
    return { status: isTheirs ? 'owner_mismatch' : 'registered', agent, ...seen }
  }

  #report(cause: unknown): void {
    const failure = cause instanceof Error ? cause.message : ''
    if (failure !== this.#reported) this.#keeping.report('registry_unread', cause)
    this.#reported = failure
  }
}
