/**
 * The response log in PostgreSQL of the simulation: the log of the product over a model of its table. A statement or
 * its answer can be lost, and a statement can run after the server has given up, so the outcome of a write is often
 * unknown.
 */
import { PostgresResponseLog, STATEMENTS } from '../../../store/log/postgres/responses.ts'
import type { Database, Rows } from '../../../store/log/postgres/connection.ts'
import { decodeRecord, type ResponseRecord } from '../../../store/log/record.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'
import { StoredRecords, type Write } from './log.ts'
import type { Owner } from './simulator.ts'

/** The time limit of a statement, as in store/log/postgres/connection.ts. */
const STATEMENT_MS_MAX = 3_000
const LATE_MS_MAX = 10_000
const LOST_MS = { min: 500, max: 20_000 }

interface Row {
  identity: string
  payment_id: string | null
  final_at: string | null
  revision: string
  record: Buffer
}

type Values = readonly unknown[]
type Result = Rows<object>

const NOTHING: Result = { rows: [], rowCount: 0 }
const ONE_CHANGED: Result = { rows: [], rowCount: 1 }

export class SimulatedDatabase extends StoredRecords {
  readonly #rows = new Map<string, Row>()
  readonly #givenUp = new Set<Write>()
  #lostUntil = 0

  readonly #handlers: Record<string, (values: Values) => Result> = {
    [STATEMENTS.INSERT]: (values) => this.#insert(values),
    [STATEMENTS.FIND]: ([identity, paymentId]) =>
      this.#found(this.#rows.get(identity as string) ?? this.#holder(paymentId)),
    [STATEMENTS.REPLACE]: ([identity, revision, , final_at, next, record, isIdFree, , takenBack]) =>
      this.#change(identity, revision, {
        final_at,
        revision: next,
        record,
        ...(isIdFree === true && { payment_id: null }),
        ...(takenBack !== null && { payment_id: this.#holder(takenBack) ? null : takenBack }),
      }),
    [STATEMENTS.FREE_UNUSED_PLACE]: () => NOTHING,
    [STATEMENTS.COUNT_UNKNOWN]: ([prefix]) => ({ rows: [{ count: this.countUnknown(prefix as string) }], rowCount: 1 }),
    [STATEMENTS.OWNER]: () => NOTHING,
    [STATEMENTS.WAIT]: () => ({ rows: [{ wait_ms: '1000' }], rowCount: 1 }),
    [STATEMENTS.LIST_UNFINISHED]: ([after, limit]) => this.#listUnfinished(after as string, limit as number),
    [STATEMENTS.LIST_DUE]: ([before, limit, late]) => {
      const due = this.due(before as string, late as string).slice(0, limit as number)
      return { rows: due.map((identity) => ({ identity })), rowCount: due.length }
    },
    [STATEMENTS.PRUNE]: ([before, limit]) => this.#prune(before as string, limit as number),
    [STATEMENTS.NOTE_UNRECORDED]: () => ONE_CHANGED,
    [STATEMENTS.LIST_UNRECORDED]: () => NOTHING,
    [STATEMENTS.PRUNE_UNRECORDED]: () => NOTHING,
  }

  open(owner: Owner): ResponseLog {
    const database = {
      query: (statement, values) => this.#query(owner, statement, values),
      end: async () => undefined,
    } as Database
    return new PostgresResponseLog(
      database,
      (milliseconds) => new Promise((resolve) => void this.sim.after(milliseconds, () => resolve(undefined), owner)),
    )
  }

  override lose(identity: string): void {
    this.#rows.delete(identity)
    super.lose(identity)
  }

  #query(owner: Owner, statement: string, values: Values): Promise<Result> {
    const { sim } = this
    const handler = this.#handlers[statement]
    if (!handler) throw new Error(`The model has no statement ${statement}`)
    return new Promise((resolve, reject) => {
      const fail = (milliseconds: number) => void sim.after(milliseconds, () => reject(new Error('ECONNRESET')), owner)
      if (this.#isLost() || sim.fault('database: a statement is lost', 0.02))
        return fail(sim.between(0, STATEMENT_MS_MAX))
      const isAnswerLost = sim.fault('database: the answer to a statement is lost', 0.02)
      const isLate = !isAnswerLost && sim.fault('database: a statement runs after its time limit', 0.01)
      const apply = () => {
        const result = handler(values)
        if (isAnswerLost) fail(sim.between(0, STATEMENT_MS_MAX))
        else if (!isLate) sim.after(sim.between(0, 5), () => resolve(result), owner)
      }
      const delay = isLate ? sim.between(STATEMENT_MS_MAX, LATE_MS_MAX) : sim.between(0, 10)
      if (isLate) fail(STATEMENT_MS_MAX)
      if (statement.startsWith('select')) return sim.afterNoFlush(delay, apply, owner)
      const write: Write = { owner, apply }
      this.inProgress.add(write)
      if (isLate) sim.afterNoFlush(STATEMENT_MS_MAX, () => void this.#givenUp.add(write), owner)
      sim.afterNoFlush(delay, () => void (this.inProgress.delete(write) && write.apply()), owner)
    })
  }

  /** After the time limit, only the database still has the statement. */
  override isWriting(owner: Owner): boolean {
    return [...this.inProgress].some((write) => write.owner === owner && !this.#givenUp.has(write))
  }

  /** The primary is lost until another one is promoted. */
  #isLost(): boolean {
    const { sim } = this
    if (sim.fault('database: the primary is lost', 0.002))
      this.#lostUntil = sim.now + sim.between(LOST_MS.min, LOST_MS.max)
    return sim.injectsFaults && sim.now < this.#lostUntil
  }

  #found(row: Row | undefined): Result {
    return row ? { rows: [{ ...row }], rowCount: 1 } : NOTHING
  }

  #holder(paymentId: unknown): Row | undefined {
    return paymentId === null ? undefined : [...this.#rows.values()].find((row) => row.payment_id === paymentId)
  }

  #insert([identity, payment_id, , revision, record]: Values): Result {
    if (this.#rows.has(identity as string) || this.#holder(payment_id)) return NOTHING
    if (this.takeSale().kind === 'full') return NOTHING
    return this.#store({ identity, payment_id, final_at: null, revision, record } as Row)
  }

  #change(identity: unknown, revision: unknown, change: Partial<Record<keyof Row, unknown>>): Result {
    const row = this.#rows.get(identity as string)
    return row?.revision === revision ? this.#store({ ...row, ...change } as Row) : NOTHING
  }

  #store(row: Row): Result {
    this.#rows.set(row.identity, row)
    this.put(decodeRecord(row.record))
    return ONE_CHANGED
  }

  #listUnfinished(after: string, limit: number): Result {
    const identities = [...this.#rows.values()].filter((row) => row.final_at === null).map(({ identity }) => identity)
    const rows = identities
      .filter((identity) => identity > after)
      .toSorted()
      .slice(0, limit)
      .map((identity) => ({ identity }))
    return { rows, rowCount: rows.length }
  }

  #prune(before: string, limit: number): Result {
    const rows = [...this.#rows.values()]
      .filter(({ final_at }) => final_at !== null && final_at < before)
      .slice(0, limit)
    for (const { identity } of rows) {
      this.#rows.delete(identity)
      this.remove(this.records.get(identity) as ResponseRecord)
    }
    return { rows: [], rowCount: rows.length }
  }
}
