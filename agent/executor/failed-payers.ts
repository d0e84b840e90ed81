/** Remembers payers whose payment failed. For a minute they are admitted like payers without a settled payment. */

const FAILURE_MEMORY_MS = 60_000
/** Bounds the memory, about 1 MB. The oldest failure is forgotten first. */
const PAYERS_MAX = 10_000

export class FailedPayers {
  readonly #time: () => number
  readonly #failedAt = new Map<string, number>()

  constructor(time: () => number) {
    this.#time = time
  }

  add(payer: string): void {
    this.#failedAt.delete(payer)
    this.#failedAt.set(payer, this.#time())
    const [oldest] = this.#failedAt.size > PAYERS_MAX ? this.#failedAt.keys() : []
    if (oldest !== undefined) this.#failedAt.delete(oldest)
  }

  has(payer: string): boolean {
    const failedAt = this.#failedAt.get(payer)
    if (failedAt === undefined) return false
    const elapsed = this.#time() - failedAt
    // Negative after the clock was set back.
    return elapsed >= 0 && elapsed < FAILURE_MEMORY_MS
  }
}
