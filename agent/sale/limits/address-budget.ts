/**
 * The account of a client address in this process: its requests in progress, and its budget for work before a payment
 * is verified (contract 6.2.2). One budget covers all kinds of requests.
 */
import { setImmediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { entriesAtMost } from '../../../base/lru-cache.ts'
import { count, giveBack, spend, type SlidingMinute } from '../../../base/sliding-minute.ts'
import { rateLimited, type Refused } from '../../operation/outcome.ts'

/**
 * What a request costs, in units. A payment includes one call to the node and one to the facilitator. `remoteCall` is a
 * further call, and `logSearch` a search of logs with several calls. A `guess` is a payload that differs from the
 * recorded one of its payment.
 */
export const WEIGHTS = { request: 1, payment: 5, guess: 25, remoteCall: 5, logSearch: 25 } as const

/** Sales of one address that are in progress. A client that buys in parallel sends fewer. */
export const REQUESTS_IN_PROGRESS_MAX = 64
/** Enough for so many first purchases at once, each a quote and a payment. */
export const BUDGET_UNITS_MIN = REQUESTS_IN_PROGRESS_MAX * (WEIGHTS.request + WEIGHTS.payment)
/** The shortest time between two replays that are admitted over the budget. */
const EXEMPT_REPLAY_INTERVAL_MS = 2_000
/** A stored response of this size costs no more to send than a quote. */
const REPLAY_BYTES_FREE = 16_384
/** To send so many bytes over MCP, which sends an answer twice, takes as long as a quote. */
const REPLAY_BYTES_PER_UNIT = 4_096
/** Bounds the memory, below 30 MB. The address that was idle longest is forgotten first. */
const ADDRESSES_MAX = 10_000

interface AddressBudgetsOptions {
  perMinute: number
  /** Milliseconds of a clock that never goes back. */
  clock: () => number
  addressesMax?: number
}

interface Account {
  minute: SlidingMinute
  /** When a replay was last admitted although the budget was spent. */
  exemptedAt: number
  inProgress: number
}

export class AddressBudgets {
  readonly #options: AddressBudgetsOptions
  readonly #accounts: LRUCache<string, Account>

  constructor(options: AddressBudgetsOptions) {
    this.#options = options
    const memoMethod = (): Account => ({ minute: [], exemptedAt: -Infinity, inProgress: 0 })
    this.#accounts = new LRUCache({ ...entriesAtMost(options.addressesMax ?? ADDRESSES_MAX), memoMethod })
  }

  enter(address: string): RequestBudget {
    return new RequestBudget(this.#accounts.memo(address), this.#options)
  }

  countSpent(): number {
    const { clock, perMinute } = this.#options
    const now = clock()
    return [...this.#accounts.values()].filter(({ minute }) => count(minute, now) >= perMinute).length
  }
}

class RequestBudget {
  readonly #account: Account
  readonly #options: AddressBudgetsOptions
  #spent: { at: number; units: number }[] = []
  /** Whether the request was admitted although the budget was spent. */
  #isExempt = false

  constructor(account: Account, options: AddressBudgetsOptions) {
    this.#account = account
    this.#options = options
  }

  /** Counts as a sale in progress until it is disposed, also if the client leaves. Undefined if there are too many. */
  begin(): Disposable | undefined {
    const account = this.#account
    if (account.inProgress >= REQUESTS_IN_PROGRESS_MAX) return undefined
    account.inProgress += 1
    return { [Symbol.dispose]: () => void (account.inProgress -= 1) }
  }

  /** Raises the total cost of the request to `units`, or refuses it. Does nothing if it has already cost more. */
  raiseTo(units: number): Refused | undefined {
    return this.spend(units - this.#spent.reduce((sum, each) => sum + each.units, 0))
  }

  /** Makes the request cost `units` more, or refuses it. */
  spend(units: number): Refused | undefined {
    if (units <= 0) return undefined
    const { clock, perMinute } = this.#options
    const spending = spend(this.#account.minute, { units, max: perMinute, timeMs: clock() })
    if (spending.kind === 'full') return rateLimited(spending.waitMs)
    this.#spent.push({ at: spending.at, units })
    return undefined
  }

  /** Charges a request for its first unit, before its body is read. */
  admit({ mayReplay }: { mayReplay: boolean }): Refused | undefined {
    const limited = this.raiseTo(WEIGHTS.request)
    return mayReplay ? this.#exempt(limited) : limited
  }

  chargeReplay(bytes: number): Refused | undefined {
    return this.#exempt(this.spend(Math.ceil((bytes - REPLAY_BYTES_FREE) / REPLAY_BYTES_PER_UNIT)))
  }

  /** The request has cost nothing: it was replayed, or a remote service did not answer. */
  refund(): void {
    for (const each of this.#spent.splice(0)) giveBack(this.#account.minute, each)
  }

  /**
   * Gives back what a sale has cost, and the request for its quote. Nothing tells which request that was: the oldest
   * one of the minute stands for it, whose units end first.
   */
  refundSale(): void {
    this.refund()
    const { minute } = this.#account
    const oldest = minute.find(({ units }) => units > 0)
    if (oldest) giveBack(minute, { at: oldest.at, units: WEIGHTS.request })
  }

  /** Admits one replay every two seconds although the budget is spent. */
  #exempt(limited: Refused | undefined): Refused | undefined {
    if (!limited || this.#isExempt) return undefined
    const now = this.#options.clock()
    const waitMs = this.#account.exemptedAt + EXEMPT_REPLAY_INTERVAL_MS - now
    if (waitMs > 0) return rateLimited(waitMs)
    this.#account.exemptedAt = now
    this.#isExempt = true
    return undefined
  }
}

/** The client of one request, as far as limits are concerned. */
export interface Client {
  /** From the widest to the narrowest, which is the network address (contract 6.2.9). */
  prefixes: readonly string[]
  budget: RequestBudget
  /** Whether the request has ended: it was answered, or the client has disconnected. */
  hasLeft: () => boolean
  /** Calls `callback` when the request ends. The result cancels the call. */
  onLeave: (callback: () => void) => () => void
  /** Call it when the payment of the request is verified: its connection is then closed for no other one. */
  noteVerified: () => void
  /**
   * Runs the work when the prefixes of the client are next (contract 6.2.9), so that a client with many requests delays
   * others by few of them. Call it again after a wait.
   */
  takeTurn: (work: () => void) => void
  /** Waits while the server accepts connections, for a bounded number of iterations of the event loop. */
  letOthersConnect: () => Promise<void>
}

/** The members of a client that never disconnects. */
export const ALWAYS_OPEN: Omit<Client, 'prefixes' | 'budget'> = {
  hasLeft: () => false,
  onLeave: () => () => undefined,
  noteVerified: () => undefined,
  takeTurn: (work) => work(),
  letOthersConnect: () => setImmediate(),
}
