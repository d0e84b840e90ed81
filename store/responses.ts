/**
 * The response log: every answer that a payment has bought or may have bought.
 *
 * An answer is claimed by its payment's identity before the payment is settled, and every later step is a
 * compare-and-set: a write under a condition that LMDB checks in its own thread and transaction, which only one process
 * holds at a time. What is visible here is on disk: a promise of this file that has resolved survives a kill and a loss of
 * power.
 *
 * A record whose state is not final lives among the unfinished, together with its revision, and moves to the others with
 * its last step. So what is left to be done is found without a list that every sale would have to write.
 */
import { setImmediate } from 'node:timers/promises'
import { getLastVersion, type Database } from 'lmdb'
import { LRUCache } from 'lru-cache'
import { endKey, responsesFolder } from './layout.ts'
import { durable, StoreError } from './open.ts'
import {
  advancedBytes,
  claimedBytes,
  firstRevision,
  hasComeToNothing,
  isFinal,
  recordIn,
  TRANSITIONS,
  type Change,
  type Place,
  type ResponseRecord,
  type State,
} from './record.ts'
import { holderOf, openResponseDatabases } from './response-databases.ts'
import { CorruptRecord, unlessCorrupt } from './seal.ts'
import { RESERVE_BYTES, reserveIn, type FreeBytes } from './space.ts'

/** The port: narrow enough that a shared database can take LMDB's place. */
export interface ResponseLog {
  /** The record of a payment, or else the one that holds its payment id: another payment's. */
  read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined>
  /**
   * Takes the place of a new payment with a record whose state is not final. Answers the record that holds it: the given
   * one, or another's that came first. Fails when the disk is nearly full, while what was begun can still be advanced.
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

/** A record, and what it is on disk. */
interface Stored {
  bytes: Buffer
  record: ResponseRecord
}

/** One that may still change, and how often it was written: a step counts only while it is this often. */
interface Unfinished extends Stored {
  revision: number
}

/** Of no record that we write. */
const RECORD_BYTES_MAX = 2 ** 30
/** Once more for a holder that was removed in between, and once for good measure. */
const CLAIMS_TRIED_MAX = 3

export function openResponseLog(dataDirectory: string, { readOnly = false, freeBytes }: Access = {}): ResponseLog {
  const { environment, unfinished, records, finished, paymentIds } = openResponseDatabases({ dataDirectory, readOnly })
  const checkReserve = reserveIn(responsesFolder(dataDirectory), RESERVE_BYTES.sale, freeBytes)
  /** Who has paid. */
  const payers = new Set<string>()
  /** What was read or written last. It spares the parsing of bytes that are still the same, never the look at them. */
  const remembered = new LRUCache<string, Stored>({ max: RECORDS_REMEMBERED_MAX })
  let isClosed = false

  /** LMDB itself would throw where nobody can catch it, later. */
  function checkOpen(): void {
    if (isClosed) throw new StoreError('The response log is closed')
  }

  function lookUp(database: Database<Buffer, string>, identity: string): Stored | undefined {
    checkOpen()
    // LMDB's own buffer. The next look overwrites it, so what is remembered is a copy; and it is longer than its `length`
    // says, and `equals` or a hash would take all of it, so its end is always given.
    const stored = bytesIn(database, identity)
    if (!stored) return undefined
    const last = remembered.get(identity)
    if (last?.bytes.compare(stored, 0, stored.length) === 0) return last
    const bytes = Buffer.from(stored.subarray(0, stored.length))
    const record = recordIn(bytes)
    if (record.identity !== identity) throw new CorruptRecord('A stored record is not in its place')
    const found = { bytes, record }
    remembered.set(identity, found)
    return found
  }

  function findUnfinished(identity: string): Unfinished | undefined {
    const found = lookUp(unfinished, identity)
    if (!found) return undefined
    const revision = getLastVersion()
    // The seal is not over LMDB's number, and with one that can't be counted on two steps could both be the next.
    if (!Number.isSafeInteger(revision) || revision < 1) throw new CorruptRecord('No revision')
    return { ...found, revision }
  }

  function find(identity: string): ResponseRecord | undefined {
    return (findUnfinished(identity) ?? lookUp(records, identity))?.record
  }

  /** The record of a payment, or else the one that holds its payment id. */
  function findHolder(identity: string, paymentId?: string): ResponseRecord | undefined {
    const found = find(identity)
    if (found || paymentId === undefined) return found
    const holder = holderOf(paymentIds, paymentId)
    return holder === undefined ? undefined : find(holder)
  }

  /** Whether the place and the payment id were free, and are this record's now. */
  async function take({ identity, payment_id }: ResponseRecord, bytes: Buffer): Promise<boolean> {
    checkOpen()
    const conditions: Promise<boolean>[] = []
    const revision = firstRevision()
    const ifFree = (database: typeof records | typeof paymentIds, key: string, then: () => void) =>
      void conditions.push(database.ifNoExists(key, then))
    const write = () => {
      void unfinished.put(identity, bytes, revision)
      if (payment_id !== undefined) void paymentIds.put(payment_id, identity)
    }
    const ifNew = () => ifFree(records, identity, () => ifFree(unfinished, identity, write))
    // LMDB writes in the innermost block if all conditions hold, and tells of each by itself. Behind an inner block it
    // would write although an outer condition failed: there must be nothing.
    if (payment_id === undefined) ifNew()
    else ifFree(paymentIds, payment_id, ifNew)
    return (await Promise.all(conditions)).every(Boolean)
  }

  /** Whether it was still at this revision, and now is what is given. */
  function replace({ record, revision }: Unfinished, next: ResponseRecord, bytes: Buffer): Promise<boolean> {
    checkOpen()
    const { identity, payment_id } = record
    if (!isFinal(next.state)) return unfinished.put(identity, bytes, revision + 1, revision)
    return unfinished.ifVersion(identity, revision, () => {
      void records.put(identity, bytes)
      void finished.put(endKey(next), true)
      if (payment_id !== undefined && hasComeToNothing(next.state)) void paymentIds.remove(payment_id)
      void unfinished.remove(identity)
    })
  }

  /**
   * Only inside a transaction's callback, which LMDB may run between a condition of `take` or `replace` and what they write.
   * It changes nothing of theirs: a record that has ended, and an id that names it. One that can't be read any more is left
   * for the operator, and only its place in the list is given up.
   */
  function removeEnded(key: string): boolean {
    void finished.remove(key)
    const record = unlessCorrupt(() => lookUp(records, key.slice(key.indexOf(' ') + 1)))?.record
    if (!record || endKey(record) !== key) return false
    void records.remove(record.identity)
    remembered.delete(record.identity)
    const { payment_id } = record
    if (payment_id !== undefined && unlessCorrupt(() => holderOf(paymentIds, payment_id)) === record.identity)
      void paymentIds.remove(payment_id)
    return true
  }

  return {
    read: async (identity, paymentId) => findHolder(identity, paymentId),

    claim: async (record) => {
      checkReserve()
      if (isFinal(record.state)) throw new Error(`A record cannot begin as ${record.state}`)
      const bytes = claimedBytes(record)
      for (let tried = 0; tried < CLAIMS_TRIED_MAX; tried += 1) {
        if (await durable(take(record, bytes))) {
          remembered.set(record.identity, { bytes, record })
          return { claimed: true, record }
        }
        const holder = findHolder(record.identity, record.payment_id)
        if (holder) return { claimed: false, record: holder }
      }
      throw new StoreError('The place of a payment is not free, and nobody holds it')
    },

    advance: async (from, change) => {
      if (!(TRANSITIONS[from.state] as readonly State[]).includes(change.state)) {
        throw new Error(`A ${from.state} record cannot become ${change.state}`)
      }
      const here = findUnfinished(from.identity)
      if (here?.record.state !== from.state || here.record.attempt !== from.attempt) return undefined
      const next = { ...here.record, ...change }
      const bytes = advancedBytes(here.bytes, next)
      if (!(await durable(replace(here, next, bytes)))) return undefined
      remembered.set(next.identity, { bytes, record: next })
      return next
    },

    hasPaid: async (payerKey) => {
      if (payers.has(payerKey)) return true
      const range = { start: `${payerKey}/`, end: `${payerKey}0`, limit: PAYMENTS_READ_MAX }
      const identities = [...records.getKeys(range), ...unfinished.getKeys(range)]
      const hasPaid = identities.some((identity) => isPaid(unlessCorrupt(() => find(identity))))
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
          const keys = [...finished.getKeys({ end: before.toISOString(), limit: max })]
          return keys.filter(removeEnded).length
        }),
      ),

    close: () => {
      isClosed = true
      return environment.close()
    },
  }
}

/** Where there is less than a revision, LMDB reckons with a negative length: over 4 GB, which newer Nodes would hand out. */
function bytesIn(database: Database<Buffer, string>, identity: string): Buffer | undefined {
  const cannotBe = (cause?: unknown) => new CorruptRecord('A stored record is too short', { cause })
  try {
    const bytes = database.getBinaryFast(identity)
    if (bytes && bytes.length > RECORD_BYTES_MAX) throw cannotBe()
    return bytes
  } catch (cause) {
    throw cause instanceof RangeError ? cannotBe(cause) : cause
  }
}

function isPaid(record: ResponseRecord | undefined): boolean {
  return record?.state === 'settled' || record?.state === 'confirmed'
}
