/** The shared rate limit of requests with a payment (contract 6.2). The slots are counted in the store. */
import type { Report } from '../../store/runtime.ts'
import type { AdmissionKind, Slots, TakenSlot } from '../../store/slots.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import { FailedPayers } from './failed-payers.ts'
import { rateLimited } from './rate-limited.ts'

/** A slot counts until it is released. Disposal releases it unless `confirmPaid` or `markFailed` was called. */
export interface Slot extends Disposable {
  readonly kind: 'slot'
  /** Counts the request as paid from now on. Refused when paid requests fill the window. */
  confirmPaid(): Promise<Refused | undefined>
  /** Counts the payment as failed from now on. */
  markFailed(): void
  release(): void
}

interface RateLimitOptions {
  slots: Slots
  now: () => Date
  report?: Report
}

export class RateLimit {
  readonly #slots: Slots
  readonly #report: Report
  readonly #failedPayers: FailedPayers

  constructor({ slots, now, report = () => undefined }: RateLimitOptions) {
    this.#slots = slots
    this.#report = report
    this.#failedPayers = new FailedPayers(() => now().getTime())
  }

  /** Takes a slot. If `payer` is given and its payment fails, the payer is remembered as failed. */
  async enter(kind: AdmissionKind, payer?: string): Promise<Slot | Refused> {
    const taken = await this.#take(kind)
    return taken.kind === 'refused' ? taken : this.#openSlot(taken, payer)
  }

  /** Whether a payment of this payer failed within the last minute. */
  hasFailed(payer: string): boolean {
    return this.#failedPayers.has(payer)
  }

  /** If the shared slots cannot be counted, the request is refused, so the limit holds over all nodes. */
  async #take(kind: AdmissionKind): Promise<TakenSlot | Refused> {
    try {
      const taken = await this.#slots.take(kind)
      return taken.kind === 'full' ? rateLimited(taken.waitMs) : taken
    } catch (cause) {
      this.#report('rate_limit_unavailable', cause)
      return refused({ code: 'overloaded' })
    }
  }

  #openSlot(taken: TakenSlot, payer: string | undefined): Slot {
    let counted = taken
    let isKept = false
    return {
      kind: 'slot',
      confirmPaid: async () => {
        const paid = await this.#take('paid')
        if (paid.kind === 'refused') return paid
        counted.release()
        counted = paid
        isKept = true
        return undefined
      },
      markFailed: () => {
        if (payer !== undefined) this.#failedPayers.add(payer)
        counted.markFailed()
        isKept = true
      },
      release: () => counted.release(),
      [Symbol.dispose]: () => {
        if (!isKept) counted.release()
      },
    }
  }
}
