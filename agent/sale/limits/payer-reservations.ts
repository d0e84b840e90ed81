/**
 * The amounts of each payer's verified payments that are not settled yet, in this process. They never exceed the
 * balance of the payer, so a wallet with the price of one purchase cannot take the sales of a minute (contract 6.2.5).
 */

export class PayerReservations {
  /** By payer, in lower case. */
  readonly #reserved = new Map<string, bigint>()

  /**
   * Reserves the amount if the balance covers it beside the other reservations of the payer. Disposal ends the
   * reservation.
   */
  reserve(payer: string, { amount, balance }: { amount: bigint; balance: bigint }): Disposable | undefined {
    const key = payer.toLowerCase()
    const reserved = this.#reserved.get(key)
    // The first payment of a payer is left to the facilitator, which knows the reason of its refusal.
    if (reserved !== undefined && reserved + amount > balance) return undefined
    this.#add(key, amount)
    return { [Symbol.dispose]: () => this.#add(key, -amount) }
  }

  #add(key: string, amount: bigint): void {
    const reserved = (this.#reserved.get(key) ?? 0n) + amount
    if (reserved === 0n) this.#reserved.delete(key)
    else this.#reserved.set(key, reserved)
  }
}
