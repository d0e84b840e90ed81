/**
 * Reads the agent's identity from the registry in the background. Requests use the last result and never wait. It stays
 * valid for 15 minutes, also if reads fail, unless the chain contradicts the configuration.
 */
import type { Report, Timer } from '../../store/base/runtime.ts'
import { withDeadline } from '../rpc/deadline.ts'
import { isContradiction } from './errors.ts'
import type { PinnedBlock, RegisteredAgent, RegistryReader } from './reader.ts'

const REFRESH_MS = 60_000
/** Spreads the reads of several deployments. */
const REFRESH_JITTER_SHARE = 0.1
const RETRY_MS = 5_000
/** For both batches of one read. */
const READ_MS_MAX = 3_000
/** A result that is older is not reported. */
const AGE_MS_MAX = 900_000

interface CheckedBlock {
  block: PinnedBlock
  checkedAt: string
}

export type RegistryIdentity =
  /** No agent id is configured. */
  | { status: 'not_registered' }
  /** An agent id is configured, and no valid result is available. */
  | { status: 'unchecked' }
  /** The registry has no agent with this id. */
  | ({ status: 'not_found' } & CheckedBlock)
  | ({ status: 'owner_mismatch' | 'registered'; agent: RegisteredAgent } & CheckedBlock)

interface IdentityMonitorOptions {
  reader: Pick<RegistryReader, 'identity'>
  /** The expected owner, if configured. */
  owner: string | undefined
  now: () => Date
  /** From 0 to below 1. */
  random: () => number
  timer: Timer
  report: Report
}

export class IdentityMonitor {
  readonly #options: IdentityMonitorOptions
  readonly #stopping = new AbortController()
  #latest: { identity: RegistryIdentity; at: number } | undefined
  #cancel: () => void = () => undefined
  /** The last reported failure. The same failure is not reported again. */
  #reported = ''

  constructor(options: IdentityMonitorOptions) {
    this.#options = options
  }

  current(): RegistryIdentity {
    const age = this.#options.now().getTime() - (this.#latest?.at ?? Number.NaN)
    return this.#latest && age <= AGE_MS_MAX ? this.#latest.identity : { status: 'unchecked' }
  }

  /** Reads once, and schedules the next read. Never rejects. */
  async start(): Promise<void> {
    const { random, timer } = this.#options
    const isRead = await this.#refresh()
    if (this.#stopping.signal.aborted) return
    const delay = isRead ? REFRESH_MS * (1 + REFRESH_JITTER_SHARE * (2 * random() - 1)) : RETRY_MS
    this.#cancel = timer(() => void this.start(), delay)
  }

  stop(): void {
    this.#stopping.abort()
    this.#cancel()
  }

  async #refresh(): Promise<boolean> {
    const { reader, timer, now } = this.#options
    const { signal } = this.#stopping
    try {
      const deadline = { timer, milliseconds: READ_MS_MAX, signal }
      const found = await withDeadline(deadline, (readSignal) => reader.identity(readSignal))
      const at = now()
      const checked = { block: found.block, checkedAt: at.toISOString() }
      this.#latest = { identity: this.#toIdentity(found.agent, checked), at: at.getTime() }
      this.#reported = ''
      return true
    } catch (cause) {
      if (isContradiction(cause)) this.#latest = undefined
      if (!signal.aborted) this.#report(cause)
      return false
    }
  }

  #toIdentity(agent: RegisteredAgent | undefined, checked: CheckedBlock): RegistryIdentity {
    if (!agent) return { status: 'not_found', ...checked }
    const { owner } = this.#options
    const isMismatch = owner !== undefined && owner.toLowerCase() !== agent.owner.toLowerCase()
    return { status: isMismatch ? 'owner_mismatch' : 'registered', agent, ...checked }
  }

  #report(cause: unknown): void {
    const failure = cause instanceof Error ? cause.message : ''
    if (failure !== this.#reported) this.#options.report('registry_unread', cause)
    this.#reported = failure
  }
}
