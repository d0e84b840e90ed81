/**
 * The response log: every response that a payment has bought or may have bought.
 *
 * A response is claimed under its payment's identity before the payment is settled. Every later transition is a
 * compare-and-set by revision, which LMDB checks inside its write transaction. A promise resolves after the write is on
 * disk, so its result survives a kill and a power loss.
 */
import { setImmediate } from 'node:timers/promises'
import { createReserveCheck, FREE_BYTES_MIN, type readFreeBytes } from '../files/disk-space.ts'
import { responsesFolder } from '../files/layout.ts'
import type { LogOwner } from './log-owner.ts'
import {
  checkTransition,
  isFinal,
  isVersion,
  type Claim,
  type RecordChange,
  type RecordState,
  type RecordVersion,
  type ResponseRecord,
  type UnrecordedPayment,
} from './record.ts'
import { ResponseDatabase } from './response-database.ts'

/** The interface of the log. It is small, so that a shared database can implement it instead of LMDB. */
export interface ResponseLog {
  /** Writes durably without an effect. Rejects if a sale could not be stored. */
  checkWritable(): Promise<void>
  /** The record of this payment, or else the record of the payment that has this payment id. */
  read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined>
  /**
   * Stores the record of a new payment, and counts its sale in the limit of sales in a minute. If
   * the identity or the payment id is already taken, returns the existing record. Rejects when the disk is nearly full; existing
   * records can still be advanced then.
   */
  claim(record: ResponseRecord): Promise<Claim>
  /** The sales of the last minute, of all processes. A sale that becomes `refused` counts no longer. */
  countSales(): Promise<number>
  /**
   * Changes a record that still has exactly this version. Undefined otherwise: read the record and decide again. A void record
   * that becomes `settled` is listed as unfinished again, and takes its payment id back unless another payment has it. A paid
   * record that gets its receipt keeps its state.
   */
  advance(from: RecordVersion, change: RecordChange & { state: RecordState }): Promise<ResponseRecord | undefined>
  /** The identities of the records whose state is not final. They are read one by one, so a corrupt one stops no other. */
  unfinished(): Promise<string[]>
  /** Lists a settled payment without a record. Resolves with whether it is new in the list. Rejects if the list is full. */
  noteUnrecorded(payment: UnrecordedPayment): Promise<boolean>
  /** The list of {@link ResponseLog.noteUnrecorded}. */
  unrecorded(): Promise<UnrecordedPayment[]>
  /**
   * Removes at most `max` records that became final before `before`, oldest first, and unrecorded payments that were found
   * before it. Returns the number of removed records.
   */
  prune(request: { before: Date; max: number }): Promise<number>
  /** Undefined before the first start of a service. */
  owner(): Promise<LogOwner | undefined>
  /** Stores `next` if the log still has the owner `current`. Returns the owner that is stored afterwards. */
  setOwner(next: LogOwner, current: LogOwner | undefined): Promise<LogOwner>
  /** Some unfinished records and those that became final last. Damaged records are skipped. */
  newestRecords(): Promise<ResponseRecord[]>
  close(): Promise<void>
}

/** `unfinished` reads this many keys, then lets other events run. */
const KEYS_PER_READ_MAX = 1_000
/** Bounds the list of payments without a record. It is longer than an operator can work through. */
export const UNRECORDED_MAX = 1_000

interface ResponseLogOptions {
  /** For a command that reads the log while a service runs. */
  readOnly?: boolean
  /** The sales in a minute, of all processes. Default: no limit. */
  salesPerMinute?: number | undefined
  now?: () => Date
  /** Replaced by tests. */
  freeBytes?: typeof readFreeBytes
}

export function openResponseLog(
  dataDirectory: string,
  { readOnly = false, salesPerMinute = Infinity, now = () => new Date(), freeBytes }: ResponseLogOptions = {},
): ResponseLog {
  const folder = responsesFolder(dataDirectory)
  const database = new ResponseDatabase(folder, readOnly)
  const checkReserve = createReserveCheck(folder, FREE_BYTES_MIN.sale, freeBytes)

  return {
    read: async (identity, paymentId) => database.findConflict(identity, paymentId),

    async claim(record) {
      checkReserve()
      return database.insert(record, salesPerMinute)
    },

    countSales: async () => database.countSales(now()),

    async advance(from, change) {
      checkTransition(from, change)
      if (isFinal(from.state)) return database.changeFinal(from, change)
      const current = database.findUnfinished(from.identity)
      if (!current || !isVersion(current.record, from)) return undefined
      const next = { ...current.record, ...change }
      if (!(await database.replace(current, next))) return undefined
      if (next.state === 'refused') await database.giveSaleBack(next)
      return next
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

    newestRecords: async () => database.newestRecords(),

    close: () => database.close(),
  }
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
