/**
 * The budget of a client address for work before a payment is verified (contract 6.2.2), in the memory of this process.
 * One budget covers quotes, protocol calls, failing payments and guesses, so no kind of request can use up the requests
 * of another address.
 */
import { LRUCache } from 'lru-cache'
import { count, giveBack, spend, type SlidingMinute } from '../../../store/base/sliding-minute.ts'
import { rateLimited, type Refused } from '../../operation/outcome.ts'

/**
 * What a request costs, in units. A payment includes one call to the node and one to the facilitator. `remoteCall` is a
 * further call, and `search` a search of logs with several calls.
 */
export const WEIGHTS = { request: 1, payment: 5, guess: 5, remoteCall: 5, search: 25 } as const

/** Requests of one address that are in progress. A client that buys in parallel sends fewer. */
export const REQUESTS_IN_PROGRESS_MAX = 64
/** The time until a request in progress has probably ended. */
const IN_PROGRESS_WAIT_MS = 1_000
/** Between two look-ups of an address whose budget is spent. */
const LOOK_UP_INTERVAL_MS = 2_000
/** Bounds the memory, below 30 MB. The address that was idle longest is forgotten first. */
const ADDRESSES_MAX = 10_000

interface Account {
  minute: SlidingMinute
  /** When a look-up was last admitted although the budget was spent. */
  lookedUpAt: number
}

interface AddressBudgetsOptions {
  perMinute: number
  /** Milliseconds of a clock that never goes back. */
  clock: () => number
  addressesMax?: number
}

export class AddressBudgets {
  readonly #perMinute: number
  readonly #clock: () => number
  readonly #accounts: LRUCache<string, Account>
  readonly #inProgress = new Map<string, number>()

  constructor({ perMinute, clock, addressesMax = ADDRESSES_MAX }: AddressBudgetsOptions) {
    this.#perMinute = perMinute
    this.#clock = clock
    this.#accounts = new LRUCache({ max: addressesMax })
  }

  /** Begins a request of the address. If too many are in progress, every charge to this request is refused. */
  enter(address: string): RequestBudget {
    const running = this.#inProgress.get(address) ?? 0
    this.#inProgress.set(address, running + 1)
    return new RequestBudget({
      account: this.#accountOf(address),
      perMinute: this.#perMinute,
      clock: this.#clock,
      isSurplus: running >= REQUESTS_IN_PROGRESS_MAX,
      leave: () => this.#leave(address),
    })
  }

  /** The addresses that have spent their budget. */
  countSpent(): number {
    const now = this.#clock()
    return [...this.#accounts.values()].filter(({ minute }) => count(minute, now) >= this.#perMinute).length
  }

  #leave(address: string): void {
    const left = (this.#inProgress.get(address) ?? 0) - 1
    if (left > 0) this.#inProgress.set(address, left)
    else this.#inProgress.delete(address)
  }

  #accountOf(address: string): Account {
    const known = this.#accounts.get(address)
    if (known) return known
    const account = { minute: [], lookedUpAt: -Infinity }
    this.#accounts.set(address, account)
    return account
  }
}

/** The client of one request, as far as limits are concerned. */
export interface Client {
  /** The network address, from `clientAddress`. */
  address: string
  budget: RequestBudget
  /** Call it when the payment is verified or recorded: the connection is then not closed in favour of a new one. */
  keepConnectionOpen: () => void
}

interface RequestBudgetOptions extends Pick<AddressBudgetsOptions, 'perMinute' | 'clock'> {
  account: Account
  isSurplus: boolean
  leave: () => void
}

/** What one request has cost the budget of its address. */
class RequestBudget {
  readonly #options: RequestBudgetOptions
  #spent: { at: number; units: number }[] = []
  #mayLookUp = false

  constructor(options: RequestBudgetOptions) {
    this.#options = options
  }

  /** The request is no longer in progress. */
  leave(): void {
    this.#options.leave()
  }

  /** Raises the total cost of the request to `units`, or refuses it. Does nothing if it has already cost more. */
  raiseTo(units: number): Refused | undefined {
    return this.spend(units - this.#spent.reduce((sum, each) => sum + each.units, 0))
  }

  /** Makes the request cost `units` more, or refuses it. */
  spend(units: number): Refused | undefined {
    const { account, perMinute, clock, isSurplus } = this.#options
    if (isSurplus) return rateLimited(IN_PROGRESS_WAIT_MS)
    if (units <= 0) return undefined
    const spending = spend(account.minute, { units, max: perMinute, timeMs: clock() })
    if (spending.kind === 'full') return rateLimited(spending.waitMs)
    this.#spent.push({ at: spending.at, units })
    return undefined
  }

  /** Charges one unit for looking up a record. If the budget is spent, a request is still admitted now and then. */
  chargeRecordLookUp(): Refused | undefined {
    if (this.#mayLookUp) return undefined
    const limited = this.raiseTo(WEIGHTS.request)
    const { account, clock, isSurplus } = this.#options
    if (limited) {
      if (isSurplus || clock() - account.lookedUpAt < LOOK_UP_INTERVAL_MS) return limited
      account.lookedUpAt = clock()
    }
    this.#mayLookUp = true
    return undefined
  }

  /** The request has cost nothing: it was sold or replayed, or a remote service did not answer. */
  refund(): void {
    for (const each of this.#spent.splice(0)) giveBack(this.#options.account.minute, each)
  }
}
