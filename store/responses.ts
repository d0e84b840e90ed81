/**
 * The response log: every response that a payment has bought or may have bought.
 *
 * A response is claimed under its payment's identity before the payment is settled. Every later transition is a
 * compare-and-set by revision, which LMDB checks inside its write transaction. A promise resolves after the write is on
 * disk, so its result survives a kill and a power loss.
 */
import { setImmediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { undefinedIfCorrupt } from './checksum.ts'
import { createReserveCheck, FREE_BYTES_MIN, type ReadFreeBytes } from './disk-space.ts'
import { StoreError } from './environment.ts'
import { responsesFolder } from './layout.ts'
import type { OwnedLog } from './log-owner.ts'
import {
  checkBeginning,
  checkPaid,
  checkTransition,
  checkVoid,
  isPaid,
  isVersion,
  lacksReceipt,
  type ListResult,
  type RecordChange,
  type RecordState,
  type RecordVersion,
  type ResponseRecord,
  type UnrecordedPayment,
} from './record.ts'
import { ResponseDatabase } from './response-database.ts'

interface ClaimResult {
  claimed: boolean
  record: ResponseRecord
}

/** The interface of the log. It is small, so that a shared database can implement it instead of LMDB. */
export interface ResponseLog {
  /** Writes durably without an effect. Rejects if a sale could not be stored. */
  checkWritable(): Promise<void>
  /** The record of this payment, or else the record of the payment that has this payment id. */
  read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined>
  /**
   * Stores the record of a new payment; its state must not be final. If the identity or the payment id is already taken,
   * returns the existing record. Rejects when the disk is nearly full; existing records can still be advanced then.
   */
  claim(record: ResponseRecord): Promise<ClaimResult>
  /** Changes a record that still has exactly this version. Undefined otherwise: read the record and decide again. */
  advance(from: RecordVersion, change: RecordChange & { state: RecordState }): Promise<ResponseRecord | undefined>
  /**
   * Makes a void record `settled` and lists it as unfinished again. Its payment id is taken back unless another payment has
   * it. Undefined if the record has changed.
   */
  reopen(from: RecordVersion, change: RecordChange & { state: 'settled' }): Promise<ResponseRecord | undefined>
  /**
   * Adds the receipt to a paid record that has none. Undefined if the record has changed: read it, another process may have
   * added one.
   */
  addReceipt(from: RecordVersion, receipt: string): Promise<ResponseRecord | undefined>
  /** Whether a payment whose identity begins with this payer's key was settled. */
  hasPaid(payerKey: string): Promise<boolean>
  /** The identities of the records whose state is not final. They are read one by one, so a corrupt one stops no other. */
  unfinished(): Promise<string[]>
  /** Lists a settled payment without a record, unless it is listed already or the list is full. */
  noteUnrecorded(payment: UnrecordedPayment): Promise<ListResult>
  /** The list of {@link ResponseLog.noteUnrecorded}. */
  unrecorded(): Promise<UnrecordedPayment[]>
  /**
   * Removes at most `max` records that became final before `before`, oldest first, and unrecorded payments that were found
   * before it. Returns the number of removed records.
   */
  prune(request: { before: Date; max: number }): Promise<number>
  close(): Promise<void>
}

/** The payments of a payer that `hasPaid` reads. The first one is usually settled; only void payments require more. */
const PAYER_RECORDS_MAX = 16
/** `unfinished` reads this many keys, then lets other events run. */
const KEYS_PER_READ_MAX = 1_000
/** Keys of payers that are known to have paid. */
const CACHED_PAYERS_MAX = 10_000
/** Bounds the list of payments without a record. It is longer than an operator can work through. */
export const UNRECORDED_MAX = 1_000
/** A conflicting record can be removed between the write and the read; the third attempt is a safety margin. */
const CLAIM_ATTEMPTS_MAX = 3

interface ResponseLogOptions {
  /** For a command that reads the log while a service runs. */
  readOnly?: boolean
  /** Replaced by tests. */
  freeBytes?: ReadFreeBytes
}

export function openResponseLog(
  dataDirectory: string,
  { readOnly = false, freeBytes }: ResponseLogOptions = {},
): ResponseLog & OwnedLog {
  const folder = responsesFolder(dataDirectory)
  const database = new ResponseDatabase(folder, readOnly)
  const checkReserve = createReserveCheck(folder, FREE_BYTES_MIN.sale, freeBytes)
  const payers = new LRUCache<string, true>({ max: CACHED_PAYERS_MAX })

  return {
    read: async (identity, paymentId) => database.findConflict(identity, paymentId),

    async claim(record) {
      checkReserve()
      checkBeginning(record)
      return insertOrFind(database, record)
    },

    async advance(from, change) {
      checkTransition(from, change.state)
      const current = database.findUnfinished(from.identity)
      if (!current || !isVersion(current.record, from)) return undefined
      const next = { ...current.record, ...change }
      return (await database.replace(current, next)) ? next : undefined
    },

    async reopen(from, change) {
      checkVoid(from)
      return database.reopen(from, change)
    },

    async addReceipt(from, receipt) {
      checkPaid(from)
      const current = database.findUnfinished(from.identity)
      if (!current) return database.addReceipt(from, receipt)
      if (!lacksReceipt(current.record, from)) return undefined
      const next = { ...current.record, receipt }
      return (await database.replace(current, next)) ? next : undefined
    },

    async hasPaid(payerKey) {
      if (payers.get(payerKey)) return true
      const hasPaid = hasPaidRecord(database, payerKey)
      if (hasPaid) payers.set(payerKey, true)
      return hasPaid
    },

    unfinished: () => listUnfinished(database),

    async noteUnrecorded(payment) {
      checkReserve()
      return database.noteUnrecorded(payment, UNRECORDED_MAX)
    },

    unrecorded: async () => database.listUnrecorded(),

    prune: (request) => database.prune(request),

    checkWritable: () => database.checkWritable(),

    owner: async () => database.owner(),

    setOwner: (next, current) => database.setOwner(next, current),

    isEmpty: async () => database.isEmpty(),

    newestRecords: async () => database.newestRecords(),

    close: () => database.close(),
  }
}

async function insertOrFind(database: ResponseDatabase, record: ResponseRecord): Promise<ClaimResult> {
  for (let attempt = 0; attempt < CLAIM_ATTEMPTS_MAX; attempt += 1) {
    if (await database.insert(record)) return { claimed: true, record }
    const existing = database.findConflict(record.identity, record.payment_id)
    if (existing) return { claimed: false, record: existing }
  }
  throw new StoreError('A payment identity or payment id is taken, but its record does not exist')
}

function hasPaidRecord(database: ResponseDatabase, payerKey: string): boolean {
  return database.listIdentities(payerKey, PAYER_RECORDS_MAX).some((identity) => {
    const record = undefinedIfCorrupt(() => database.find(identity))
    return record !== undefined && isPaid(record.state)
  })
}

/** Lets other events run between its reads. */
async function listUnfinished(database: ResponseDatabase): Promise<string[]> {
  const identities: string[] = []
  for (;;) {
    const next = database.listUnfinished(identities.at(-1), KEYS_PER_READ_MAX)
    identities.push(...next)
    if (next.length < KEYS_PER_READ_MAX) return identities
    await setImmediate()
  }
}
