/** Limits the work of one query by counted operations, so that its answer is the same on every machine. */

export class OperationBudget {
  #left: number

  constructor(operationsMax: number) {
    this.#left = operationsMax
  }

  /** Whether an operation was refused. The result of the query is then incomplete. */
  get isExceeded(): boolean {
    return this.#left < 0
  }

  get left(): number {
    return this.#left
  }

  /** Counts operations. From the first refusal on, all are refused. */
  take(count: number): boolean {
    if (this.#left < 0) return false
    this.#left = count > this.#left ? -1 : this.#left - count
    return this.#left >= 0
  }
}

/** Letter sets and letters compared: twice what 99 % of queries with two typos need at a million companies. */
const SPELLING_OPERATIONS_MAX = 1_000_000
/** Names visited in postings. The two most common words are in fewer of a million names. */
const POSTING_OPERATIONS_MAX = 150_000
/** Words compared when names are scored. A query of two common words needs fewer. */
const PAIR_OPERATIONS_MAX = 75_000
/** Company records read: the slowest operation. Few names have the same score as the tenth best. */
const RECORDS_READ_MAX = 100

export function openQueryBudgets() {
  return {
    spelling: new OperationBudget(SPELLING_OPERATIONS_MAX),
    postings: new OperationBudget(POSTING_OPERATIONS_MAX),
    pairs: new OperationBudget(PAIR_OPERATIONS_MAX),
    records: new OperationBudget(RECORDS_READ_MAX),
  }
}

export type QueryBudgets = ReturnType<typeof openQueryBudgets>
