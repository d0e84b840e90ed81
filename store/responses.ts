/**
 * The response log: every answer that a payment has bought or may have bought.
 *
 * An answer is claimed by its payment's identity before the payment is settled, and every later step is a
 * compare-and-set on state and attempt inside one LMDB write transaction, which only one process holds at a time. What is
 * visible here is on disk: a promise of this file that has resolved survives a kill and a loss of power.
 */
import { setImmediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import {
  FINISHED_DATABASE,
  LAYOUT_KEY,
  LAYOUT_VERSION,
  PAYMENT_IDS_DATABASE,
  RECORDS_DATABASE,
  UNFINISHED_DATABASE,
  responsesFolder,
} from './layout.ts'
import { durable, durableSync, layoutOf, openEnvironment } from './open.ts'
import { seal, unseal } from './seal.ts'
import { RESERVE_BYTES, reserveIn, type FreeBytes } from './space.ts'

/** From each state the states that may follow. What has no follower is final. */
export const TRANSITIONS = {
  /** The answer is stored, and its settlement may begin; nobody knows how far it came. */
  prepared: ['settled', 'refused', 'unknown', 'rejected', 'expired'],
  /** A further one was begun; likewise. */
  settling: ['settled', 'refused', 'unknown'],
  unknown: ['settling', 'settled', 'rejected', 'expired'],
  /** Said by the facilitator, or seen in a block that is not final: audited until it is. */
  settled: ['confirmed', 'unknown'],
  /** Said by the facilitator, with a nonce that was free: audited likewise. */
  refused: ['settled', 'rejected', 'expired'],
  confirmed: [],
  rejected: [],
  expired: [],
} as const satisfies Record<string, readonly string[]>

export const STATES = Object.keys(TRANSITIONS) as (keyof typeof TRANSITIONS)[]

export type State = (typeof STATES)[number]

const responseRecordSchema = z.strictObject({
  /** Network, asset, payer and nonce, lower case. */
  identity: z.string().min(1),
  /** The payer and the id that he gave the payment, where he gave one. */
  payment_id: z.string().min(1).optional(),
  /** SHA-256 of the RFC 8785 form of the whole decoded payment payload. */
  payment_hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** SHA-256 of the canonical operation that the payment bought. */
  operation_digest: z.string().regex(/^[0-9a-f]{64}$/),
  state: z.enum(STATES),
  /** How many settlements were begun at most: 1 for what is prepared; 0 in logs whose settlements were begun apart. */
  attempt: z.int().nonnegative(),
  /** The payment payload and the terms it was taken on, to settle again after a crash. Never logged. */
  payment: z.record(z.string(), z.unknown()),
  requirements: z.record(z.string(), z.unknown()),
  /** The head of the chain before the first settlement: nothing of this payment can be in an older block. */
  from_block: z.string().regex(/^[0-9]+$/),
  snapshot_id: z.string(),
  /** The answer as it is sent, byte for byte. */
  body: z.string(),
  /** The `PAYMENT-RESPONSE` header, once settled. */
  payment_response: z.string().nullable(),
  prepared_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
})

export type ResponseRecord = Readonly<z.infer<typeof responseRecordSchema>>

/** The place in a record's life that a step starts from; the fence against whoever else works on it. */
export type Place = Pick<ResponseRecord, 'identity' | 'state' | 'attempt'>

export type Change = Partial<Pick<ResponseRecord, 'state' | 'attempt' | 'payment_response'>> & { updated_at: string }

/** The port: narrow enough that a shared database can take LMDB's place. */
export interface ResponseLog {
  /** The record of a payment, or else the one that holds its payment id: another payment's. */
  read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined>
  /**
   * Takes the place of a new payment. Answers the record that holds it: the given one, or another's that came first. Fails
   * when the disk is nearly full, while what was begun can still be advanced.
   */
  claim(record: ResponseRecord): Promise<{ claimed: boolean; record: ResponseRecord }>
  /** Moves a record on from exactly this place. Undefined when it is no longer there: read it and decide again. */
  advance(from: Place, change: Change & { state: State }): Promise<ResponseRecord | undefined>
  /** Whether a payment whose identity begins with this payer's key has been settled. */
  hasPaid(payerKey: string): Promise<boolean>
  /** The identities of the records whose state is not final. Each is read by itself, so that a damaged one stops no other. */
  unfinished(): Promise<string[]>
  /** Removes records that ended before `before`, oldest first and at most `max`; answers how many. Never an unfinished one. */
  prune(request: { before: Date; max: number }): Promise<number>
  close(): Promise<void>
}

/** Of a payer, to find one that was settled. It is the first, but for who has let many come to nothing. */
const PAYMENTS_READ_MAX = 16
/** Of the unfinished, of which there are a quarter of an hour's sales: between one part and the next, others have their turn. */
const KEYS_AT_ONCE = 1_000
/** Records that are remembered as they were read: more than a round of the reconciler reads (`RECORDS_PER_ROUND_MAX`). */
const RECORDS_REMEMBERED_MAX = 512
/** Payers that are known to have paid and are not looked for again. Then all are forgotten: it is not worth more. */
const PAYERS_KEPT_MAX = 10_000

interface Access {
  /** For a look beside the service that writes. */
  readOnly?: boolean
  /** The system's own unless a test plays a full disk. */
  freeBytes?: FreeBytes
}

export function openResponseLog(dataDirectory: string, { readOnly = false, freeBytes }: Access = {}): ResponseLog {
  const environment = openEnvironment({ folder: responsesFolder(dataDirectory), kind: 'responses', readOnly })
  const records = environment.openDB<Buffer, string>({ name: RECORDS_DATABASE, encoding: 'binary' })
  const unfinished = environment.openDB<true, string>({ name: UNFINISHED_DATABASE, encoding: 'json' })
  const finished = readOnly
    ? undefined
    : environment.openDB<true, string>({ name: FINISHED_DATABASE, encoding: 'json' })
  const paymentIds = readOnly
    ? undefined
    : environment.openDB<string, string>({ name: PAYMENT_IDS_DATABASE, encoding: 'json' })
  const checkReserve = reserveIn(responsesFolder(dataDirectory), RESERVE_BYTES.sale, freeBytes)
  /** Who has paid. */
  const payers = new Set<string>()
  /** What was read or written last. It spares the parsing of bytes that are still the same, never the look at them. */
  const remembered = new LRUCache<string, { bytes: Buffer; record: ResponseRecord }>({ max: RECORDS_REMEMBERED_MAX })
  if (!readOnly && layoutOf(environment) < LAYOUT_VERSION.responses) durableSync(upgrade)

  /** The seal shows that it is what this layout's program wrote, and that was checked when its place was taken. */
  function find(identity: string): ResponseRecord | undefined {
    // LMDB's own buffer. The next look overwrites it, so what is remembered is a copy; and it is longer than its `length`
    // says, and `equals` or a hash would take all of it, so its end is always given.
    const stored = records.getBinaryFast(identity)
    if (!stored) return undefined
    const last = remembered.get(identity)
    if (last?.bytes.compare(stored, 0, stored.length) === 0) return last.record
    const bytes = Buffer.from(stored.subarray(0, stored.length))
    const record = JSON.parse(unseal(bytes)) as ResponseRecord
    if (record.identity !== identity) throw new Error('A stored record is not in its place')
    remembered.set(identity, { bytes, record })
    return record
  }

  /** Only inside a write transaction. */
  function write(record: ResponseRecord, bytes: Buffer): void {
    void records.put(record.identity, bytes)
    remembered.set(record.identity, { bytes, record })
  }

  /** The record that holds a payment id. A payment that has come to nothing holds its own no longer. */
  function findById(paymentId: string | undefined): ResponseRecord | undefined {
    const identity = paymentId === undefined ? undefined : paymentIds?.get(paymentId)
    const record = identity === undefined ? undefined : find(identity)
    return record?.state === 'rejected' || record?.state === 'expired' ? undefined : record
  }

  /** Only inside a write transaction. */
  function list(record: ResponseRecord): void {
    if (!isFinished(record)) void unfinished.put(record.identity, true)
    else {
      void unfinished.remove(record.identity)
      void finished?.put(endKey(record), true)
    }
  }

  /** Version 1 had no list of what is finished, and took `settled` for final. */
  function upgrade(): void {
    environment.transactionSync(() => {
      for (const identity of records.getKeys()) {
        const record = attempt(() => find(identity))
        if (record) list(record)
      }
      void environment.put(LAYOUT_KEY, { kind: 'responses', version: LAYOUT_VERSION.responses })
    })
  }

  /** A record that can't be read any more is left for the operator, and only its place in the list is given up. */
  function removeEnded(key: string): boolean {
    void finished?.remove(key)
    const record = attempt(() => find(key.slice(key.indexOf(' ') + 1)))
    if (!record || !isFinished(record) || endKey(record) !== key) return false
    void records.remove(record.identity)
    remembered.delete(record.identity)
    const { payment_id } = record
    if (payment_id !== undefined && paymentIds?.get(payment_id) === record.identity) void paymentIds.remove(payment_id)
    return true
  }

  return {
    read: async (identity, paymentId) => find(identity) ?? findById(paymentId),

    claim: async (record) => {
      checkReserve()
      // Before the transaction, in which other processes wait.
      const bytes = sealed(responseRecordSchema.parse(record))
      return durable(
        environment.transaction(() => {
          const holder = find(record.identity) ?? findById(record.payment_id)
          if (holder) return { claimed: false, record: holder }
          write(record, bytes)
          list(record)
          if (record.payment_id !== undefined) void paymentIds?.put(record.payment_id, record.identity)
          return { claimed: true, record }
        }),
      )
    },

    advance: (from, change) =>
      durable(
        environment.transaction(() => {
          const found = find(from.identity)
          if (found?.state !== from.state || found.attempt !== from.attempt) return undefined
          if (!(TRANSITIONS[found.state] as readonly State[]).includes(change.state)) {
            throw new Error(`A ${found.state} record cannot become ${change.state}`)
          }
          const next = { ...found, ...change }
          write(next, sealed(next))
          if (isFinished(next)) list(next)
          return next
        }),
      ),

    hasPaid: async (payerKey) => {
      if (payers.has(payerKey)) return true
      const keys = records.getKeys({ start: `${payerKey}/`, end: `${payerKey}0`, limit: PAYMENTS_READ_MAX })
      const hasPaid = [...keys].some((identity) => isPaid(attempt(() => find(identity))))
      if (hasPaid) {
        if (payers.size >= PAYERS_KEPT_MAX) payers.clear()
        payers.add(payerKey)
      }
      return hasPaid
    },

    unfinished: async () => {
      const identities: string[] = []
      for (;;) {
        const start = identities.at(-1)
        const next = [
          ...unfinished.getKeys({ ...(start !== undefined && { start, exclusiveStart: true }), limit: KEYS_AT_ONCE }),
        ]
        identities.push(...next)
        if (next.length < KEYS_AT_ONCE) return identities
        await setImmediate()
      }
    },

    prune: ({ before, max }) =>
      durable(
        environment.transaction(() => {
          const keys = [...(finished?.getKeys({ end: before.toISOString(), limit: max }) ?? [])]
          return keys.filter(removeEnded).length
        }),
      ),

    close: () => environment.close(),
  }
}

function sealed(record: ResponseRecord): Buffer {
  return seal(JSON.stringify(record))
}

function isPaid(record: ResponseRecord | undefined): boolean {
  return record?.state === 'settled' || record?.state === 'confirmed'
}

function isFinished({ state }: ResponseRecord): boolean {
  return TRANSITIONS[state].length === 0
}

/** Keys in the order of time; ISO 8601 in UTC sorts as text. */
function endKey({ updated_at, identity }: ResponseRecord): string {
  return `${updated_at} ${identity}`
}

/** Undefined for a damaged record. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
