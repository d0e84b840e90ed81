/** Payers whose payment has just come to nothing: for a minute they are strangers, whatever they have bought before. */

const DISTRUST_MS = 60_000
/** The oldest are forgotten first. */
const PAYERS_MAX = 10_000

export class Distrusted {
  readonly #time: () => number
  readonly #since = new Map<string, number>()

  constructor(time: () => number) {
    this.#time = time
  }

  add(payer: string): void {
    this.#since.delete(payer)
    this.#since.set(payer, this.#time())
    const [oldest] = this.#since.size > PAYERS_MAX ? this.#since.keys() : []
    if (oldest !== undefined) this.#since.delete(oldest)
  }

  has(payer: string): boolean {
    const since = this.#since.get(payer)
    if (since === undefined) return false
    const elapsed = this.#time() - since
    return elapsed >= 0 && elapsed < DISTRUST_MS
  }
}
