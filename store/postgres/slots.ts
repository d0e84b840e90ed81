/**
 * The slots of the rate limit in PostgreSQL, for several machines. The number of rows of a quota is its limit, so the nodes
 * cannot exceed it together. A node takes rows in leases; a leased row counts as used. Row times use the database's clock.
 */
import type { Pool } from 'pg'
import { StoreError } from '../environment.ts'
import type { Report, Timer } from '../runtime.ts'
import {
  LEASES_PER_LIMIT,
  WINDOW_MS,
  type AdmissionKind,
  type NoSlot,
  type SlotKind,
  type Slots,
  type TakenSlot,
} from '../slots.ts'
import { openPool, queryRepeatedly } from './connection.ts'
import { checkSchema } from './schema.ts'

/** A node uses a row only within this time, then returns it if it is unused. A used row counts for a minute after that. */
const LEASE_MS = 2_000
/** A lease has at least the rows of a quota divided by this number, so most requests need no statement. */
const LEASES_PER_QUOTA = 50
/** From taking a row until it is free again. */
const TAKEN_MS = LEASE_MS + WINDOW_MS
/** A full quota is read again after this time, because other nodes return unused rows. */
const FULL_MS = 1_000
/** For one request. Another statement is needed if a lease ends while one runs. */
const STATEMENTS_MAX = 3
/** Statements run one after the other; the second connection is for metrics. */
const CONNECTIONS_MAX = 2

/** A failed trial keeps its row in `trial`. Known payers have no quota: they need a free row in `paid`. */
const QUOTAS = ['trial', 'paid'] as const
type Quota = (typeof QUOTAS)[number]

const ADD_ROWS = `insert into rate_limit_slots (quota, number, free_at)
  select quota, number, now() from (values ('trial'), ('paid')) as quotas (quota), generate_series(1, $1::int) as number
  on conflict do nothing`
const REMOVE_ROWS = 'delete from rate_limit_slots where number > $1'
/** Skips rows that another node is taking. */
const freeRows = (quota: Quota, count: string) =>
  `select quota, number from rate_limit_slots where quota = '${quota}' and free_at <= now()
    order by free_at limit ${count} for update skip locked`
const nextFree = (quota: Quota) =>
  `select '${quota}', null, null, (select extract(epoch from min(free_at) - now()) * 1000 from rate_limit_slots
    where quota = '${quota}' and free_at > now())`
/**
 * Each taken row gets a new `holder`. The last two rows of the result have the time until the next row of each quota is
 * free.
 */
const TAKE = `with trial as (${freeRows('trial', '$1')}), paid as (${freeRows('paid', '$2')}),
  taken as (update rate_limit_slots as slots set free_at = now() + $3 * interval '1 millisecond', holder = gen_random_uuid()
    from (select * from trial union all select * from paid) as chosen
    where slots.quota = chosen.quota and slots.number = chosen.number
    returning slots.quota, slots.number, slots.holder)
  select quota, number, holder, 0 as wait_ms from taken
  union all ${nextFree('trial')} union all ${nextFree('paid')}`
const RETURN = `update rate_limit_slots set free_at = now()
  where quota in ('trial', 'paid') and number = any($1) and holder = any($2)`
/** After the clock of the database is set back, `free_at` of taken rows is too late. */
const CORRECT = `update rate_limit_slots set free_at = now() + $1 * interval '1 millisecond'
  where free_at > now() + $1 * interval '1 millisecond'`
const COUNT = 'select quota, count(*)::int as count from rate_limit_slots where free_at > now() group by quota'

/** A row of the table that this node has taken. At high limits a row stands for several slots. */
interface Row {
  quota: Quota
  number: number
  holder: string
  usableUntil: number
  unused: number
}

/** A row of the result of `TAKE`: a taken row, or, if `number` is null, the time until the next row of the quota is free. */
type TakenRow =
  | { quota: Quota; number: number; holder: string }
  | { quota: Quota; number: null; holder: null; wait_ms: string | null }

/** A request that waits for the next statement. */
interface Waiting {
  kind: AdmissionKind
  /** The statements that have run for it. */
  statements: number
  resolve: (taken: TakenSlot | NoSlot) => void
  reject: (cause: unknown) => void
}

interface PostgresSlotsOptions {
  url: string
  perMinute: number
  /** Milliseconds of a clock that never goes back. */
  clock: () => number
  timer: Timer
  report: Report
}

/**
 * Connects, checks the schema and makes the rows. The limit of the node that started last determines their number.
 * @throws StoreError if the database cannot be used; the message is one line without the URL
 */
export async function openPostgresSlots(options: PostgresSlotsOptions): Promise<Slots> {
  const { url, perMinute, report } = options
  const pool = openPool({ url, report, connections: CONNECTIONS_MAX })
  // A row stands for a group of slots. With a row for each slot, the service of the benchmark row `paid lookup on PostgreSQL`
  // does not start, because the statement that adds the rows takes too long.
  const slotsPerRow = Math.max(1, Math.floor(perMinute / LEASES_PER_LIMIT))
  const rows = Math.floor(perMinute / slotsPerRow)
  try {
    await checkSchema(pool)
    await queryRepeatedly(pool, ADD_ROWS, [rows])
    await queryRepeatedly(pool, REMOVE_ROWS, [rows])
    return new PostgresSlots(pool, { ...options, slotsPerRow, rows })
  } catch (cause) {
    await pool.end()
    if (cause instanceof StoreError) throw cause
    throw new StoreError('RESPONSE_LOG cannot be used for the rate limit', { cause })
  }
}

class PostgresSlots implements Slots {
  readonly #pool: Pool
  readonly #clock: () => number
  readonly #timer: Timer
  readonly #report: Report
  readonly #slotsPerRow: number
  readonly #leaseRows: number
  /** The rows that this node may still use, or must return. */
  readonly #rows = new Set<Row>()
  /** Quotas that had too few free rows, until when this is assumed, and when the next row is free. */
  readonly #full = new Map<Quota, { until: number; freeAt: number }>()
  readonly #waiting: Waiting[] = []
  #running: Promise<void> | undefined
  #cancelReturn: (() => void) | undefined
  #isClosed = false

  constructor(
    pool: Pool,
    { clock, timer, report, slotsPerRow, rows }: PostgresSlotsOptions & { slotsPerRow: number; rows: number },
  ) {
    this.#pool = pool
    this.#clock = clock
    this.#timer = timer
    this.#report = report
    this.#slotsPerRow = slotsPerRow
    this.#leaseRows = Math.ceil(rows / LEASES_PER_QUOTA)
  }

  async take(kind: AdmissionKind): Promise<TakenSlot | NoSlot> {
    const result = this.#takeWithoutQuery(kind)
    if (result) return result
    const pending = new Promise<TakenSlot | NoSlot>((resolve, reject) => {
      this.#waiting.push({ kind, statements: 0, resolve, reject })
    })
    this.#running ??= this.#processWaiting()
    return pending
  }

  async counts(): Promise<Partial<Record<SlotKind, number>>> {
    await this.#running
    const { rows } = await this.#pool.query<{ quota: Quota; count: number }>(COUNT)
    const countOf = (quota: Quota) => rows.find((row) => row.quota === quota)?.count ?? 0
    return Object.fromEntries(QUOTAS.map((quota) => [quota, countOf(quota) * this.#slotsPerRow]))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelReturn?.()
    await this.#running
    // Without this, other nodes could not use these rows for a minute.
    await this.#returnRows(() => true).catch((cause: unknown) => this.#report('rate_limit_unavailable', cause))
    await this.#pool.end()
  }

  /** Takes a slot from the leased rows, or refuses if the quota is known to be full. Undefined if a statement is needed. */
  #takeWithoutQuery(kind: AdmissionKind): TakenSlot | NoSlot | undefined {
    const quota = kind === 'trial' ? 'trial' : 'paid'
    const [paid, row] = [this.#findRow('paid'), this.#findRow(quota)]
    if (!paid || !row) return this.#knownFull(paid ? quota : 'paid')
    return kind === 'known' ? { kind: 'taken', release: () => undefined, markFailed: () => undefined } : this.#use(row)
  }

  #findRow(quota: Quota): Row | undefined {
    const now = this.#clock()
    for (const row of this.#rows) if (row.quota === quota && row.unused > 0 && now <= row.usableUntil) return row
    return undefined
  }

  #knownFull(quota: Quota): NoSlot | undefined {
    const full = this.#full.get(quota)
    const now = this.#clock()
    return full && now < full.until ? { kind: 'full', waitMs: full.freeAt - now } : undefined
  }

  #use(row: Row): TakenSlot {
    row.unused -= 1
    let isCounted = true
    const release = () => {
      if (!isCounted) return
      isCounted = false
      row.unused += 1
      // The row may have been forgotten as used. It is added again so that it is returned.
      this.#rows.add(row)
      this.#planReturn()
    }
    // A failed trial keeps its row.
    return { kind: 'taken', release, markFailed: row.quota === 'trial' ? () => undefined : release }
  }

  /** Runs one statement at a time for all waiting requests. Without a waiting request, only returns ended leases. */
  async #processWaiting(): Promise<void> {
    do {
      const waiting = this.#waiting.splice(0)
      try {
        const now = this.#clock()
        await this.#returnRows(({ usableUntil }) => usableUntil < now)
        if (waiting.length > 0) await this.#takeRows(waiting)
        for (const each of waiting) this.#answer(each)
      } catch (cause) {
        if (waiting.length === 0) this.#report('rate_limit_unavailable', cause)
        for (const { reject } of waiting) reject(cause)
      }
    } while (this.#waiting.length > 0)
    this.#running = undefined
    this.#planReturn()
  }

  /** Resolves the request, or lets it wait for another statement. */
  #answer(waiting: Waiting): void {
    waiting.statements += 1
    const result = this.#takeWithoutQuery(waiting.kind)
    if (!result && waiting.statements < STATEMENTS_MAX) this.#waiting.push(waiting)
    else waiting.resolve(result ?? { kind: 'full', waitMs: 0 })
  }

  async #takeRows(waiting: readonly Waiting[]): Promise<void> {
    const sentAt = this.#clock()
    const needs = { trial: this.#rowsFor('trial', waiting), paid: this.#rowsFor('paid', waiting) }
    const { rows } = await queryRepeatedly<TakenRow>(this.#pool, TAKE, [needs.trial, needs.paid, TAKEN_MS])
    const now = this.#clock()
    const usableUntil = sentAt + LEASE_MS
    for (const quota of QUOTAS) {
      const ofQuota = rows.filter((row) => row.quota === quota)
      const taken = ofQuota.filter((row) => row.number !== null)
      for (const { number, holder } of taken)
        this.#rows.add({ quota, number, holder, usableUntil, unused: this.#slotsPerRow })
      if (taken.length === needs[quota]) continue
      // `wait_ms` is null if no row was taken before this statement.
      const waitMs = Math.min(TAKEN_MS, Number(ofQuota.find((row) => row.number === null)?.wait_ms ?? TAKEN_MS))
      this.#full.set(quota, { until: now + Math.min(FULL_MS, waitMs), freeAt: now + waitMs })
      await this.#pool.query(CORRECT, [TAKEN_MS])
    }
    // A slot that is used after the lease would be free again in less than a minute.
    if (now > usableUntil) throw new StoreError('The database answered too late for its slots')
  }

  /** The number of rows to take for these requests: none, or at least a lease. */
  #rowsFor(quota: Quota, waiting: readonly Waiting[]): number {
    const now = this.#clock()
    const takers = waiting.filter(({ kind }) => kind === quota).length
    // A trial or a known payer is only admitted while a paid slot is free.
    const wanted = quota === 'paid' && takers < waiting.length ? takers + 1 : takers
    const usable = [...this.#rows].filter((row) => row.quota === quota && now <= row.usableUntil)
    const lacking = wanted - usable.reduce((sum, { unused }) => sum + unused, 0)
    return lacking > 0 ? Math.max(this.#leaseRows, Math.ceil(lacking / this.#slotsPerRow)) : 0
  }

  /** Unused rows are returned after the end of their lease, so that other nodes can take them. */
  #planReturn(): void {
    if (this.#isClosed || this.#rows.size === 0) return
    this.#cancelReturn ??= this.#timer(() => {
      this.#cancelReturn = undefined
      this.#running ??= this.#processWaiting()
    }, LEASE_MS)
  }

  /** Returns the unused rows of ended leases. Rows with a used slot are only forgotten and count until `free_at`. */
  async #returnRows(isEnded: (row: Row) => boolean): Promise<void> {
    const ended = [...this.#rows].filter(isEnded)
    for (const row of ended) this.#rows.delete(row)
    const unused = ended.filter((row) => row.unused === this.#slotsPerRow)
    if (unused.length === 0) return
    await this.#pool.query(RETURN, [unused.map(({ number }) => number), unused.map(({ holder }) => holder)])
  }
}
