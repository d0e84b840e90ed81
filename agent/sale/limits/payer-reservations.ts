/**
 * The amounts of each payer's verified payments that are not settled yet, in this process. They never exceed the
 * balance of the payer, so a wallet with the price of one purchase cannot take the sales of a minute (contract 6.2.5).
 */
import type { Timer } from '../../../store/base/runtime.ts'
import type { Client } from './address-budget.ts'

/** The longest wait of a payment for earlier payments of its payer. */
export const PAYER_WAIT_MS_MAX = 10_000

interface Payer {
  reserved: bigint
  /** Called when a reservation of this payer ends. */
  waiting: Set<() => void>
}

export class PayerReservations {
  readonly #payers = new Map<string, Payer>()
  readonly #timer: Timer

  constructor(timer: Timer) {
    this.#timer = timer
  }

  /**
   * Reserves the amount if the balance covers it beside the other reservations of the payer. Disposal ends the
   * reservation.
   */
  reserve(payer: string, { amount, balance }: { amount: bigint; balance: bigint }): Disposable | undefined {
    const key = payer.toLowerCase()
    const known = this.#payers.get(key)
    // The first payment of a payer is left to the facilitator, which knows the reason of its refusal.
    if (known && known.reserved + amount > balance) return undefined
    const entry = known ?? { reserved: 0n, waiting: new Set() }
    entry.reserved += amount
    this.#payers.set(key, entry)
    return { [Symbol.dispose]: () => this.#release(key, amount) }
  }

  /** Resolves when a reservation of the payer ends, after `milliseconds`, or when the client leaves. */
  async nextRelease(
    payer: string,
    { milliseconds, client: { connection } }: { milliseconds: number; client: Pick<Client, 'connection'> },
  ): Promise<void> {
    const entry = this.#payers.get(payer.toLowerCase())
    if (!entry || connection.hasLeft()) return
    await new Promise<void>((resolve) => {
      const cancels = [this.#timer(() => end(), milliseconds), connection.onLeave(() => end())]
      const end = () => {
        for (const cancel of cancels) cancel()
        entry.waiting.delete(end)
        resolve()
      }
      entry.waiting.add(end)
    })
  }

  #release(key: string, amount: bigint): void {
    const entry = this.#payers.get(key)
    if (!entry) return
    entry.reserved -= amount
    if (entry.reserved === 0n) this.#payers.delete(key)
    for (const end of entry.waiting) end()
  }
}
