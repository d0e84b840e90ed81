/**
 * Moves a response log from LMDB to PostgreSQL, for the command `move-log`. All services are stopped. The source gets a
 * mark, after which no process changes it, and stays as it is. The target gets its owner last, and has a mark until it
 * is complete. Each step can be repeated after a kill.
 */
import { isDeepStrictEqual } from 'node:util'
import { StoreError } from '../files/environment.ts'
import type { ResponseRecord } from './record.ts'
import type { AnnouncedKey, ResponseLog } from './responses.ts'

interface MovedRecord {
  readonly record: ResponseRecord
  /** Whether its payment id leads to this record, and not to another one or to none. */
  readonly holdsPaymentId: boolean
}

/** Some records. `damaged` has the keys of those that cannot be read. */
export interface LogPart {
  records: MovedRecord[]
  damaged: string[]
}

/** A part has at most so many records, and ends with the one that exceeds the bytes. It is one statement. */
export const PART = { RECORDS_MAX: 500, BYTES_MAX: 2 * 2 ** 20 } as const

/** Reads of the target at once. A database has some connections. */
const READS_MAX = 50

export interface MoveSource extends ResponseLog {
  /** The other processes that have the log open. */
  otherProcesses(): number[]
  /** All records. Other methods return the rest of the log. */
  export(): Iterable<LogPart>
}

export interface MoveTarget extends ResponseLog {
  /** Adds a part of another log. Can be repeated with the same part. */
  importRecords(part: LogPart): Promise<void>
  importKeys(keys: readonly AnnouncedKey[]): Promise<void>
}

const MARKS = 'move/'
/** The note of a source: where it moves. No process changes the log then. */
export const MOVED_NOTE = `${MARKS}to`
/** The note of a target that is not complete: the id of the log. */
const INCOMPLETE_NOTE = `${MARKS}incomplete`

/** Why a service must not start with this log, as one line. */
export async function findMoveFault(log: Pick<ResponseLog, 'notes'>): Promise<string | undefined> {
  const marks = await log.notes(MARKS)
  const to = marks.get(MOVED_NOTE)
  if (to !== undefined) return `The response log was moved to ${to}: use that one`
  return marks.has(INCOMPLETE_NOTE) ? 'The response log is not complete: repeat "move-log"' : undefined
}

interface Move {
  source: MoveSource
  target: MoveTarget
  /** The target, for messages. */
  to: string
}

/**
 * Copies all of `source` to `target`, and compares every record.
 * @returns the number of copied records, and the keys of damaged ones, which are not copied
 * @throws StoreError if the target has another log, or differs from the source afterwards
 */
export async function moveLog({ source, target, to }: Move): Promise<{ records: number; damaged: string[] }> {
  const owner = await prepare({ source, target, to })
  await target.setNote(INCOMPLETE_NOTE, owner.log_id)
  await source.setNote(MOVED_NOTE, to)
  for (const part of source.export()) await target.importRecords(part)
  await target.importKeys(await source.publicKeys())
  for (const payment of await source.unrecorded()) await target.noteUnrecorded(payment)
  for (const [key, value] of await source.notes('')) if (!key.startsWith(MARKS)) await target.setNote(key, value)
  const counts = await compare(source, target)
  const stored = await target.setOwner(owner, undefined)
  if (stored.log_id !== owner.log_id) throw new StoreError(`${to}: has got another response log meanwhile`)
  await target.setNote(INCOMPLETE_NOTE)
  return counts
}

/** Changes nothing. */
async function prepare({ source, target, to }: Move) {
  const owner = await source.owner()
  if (!owner) throw new StoreError('The response log is new, so there is nothing to move')
  const others = source.otherProcesses()
  if (others.length > 0)
    throw new StoreError(`Other processes have the response log open, stop them first: ${others.join(', ')}`)
  const movedTo = (await source.notes(MARKS)).get(MOVED_NOTE) ?? to
  if (movedTo !== to) throw new StoreError(`The response log moves to ${movedTo}: finish that`)
  const incomplete = (await target.notes(MARKS)).get(INCOMPLETE_NOTE)
  if (incomplete === owner.log_id) return owner
  const stored = await target.owner()
  if (stored?.log_id === owner.log_id)
    throw new StoreError(`${to}: has this response log already; the move is complete`)
  // A log that was restored in part can have records without an owner.
  if (incomplete !== undefined || stored || (await target.newestRecords()).length > 0)
    throw new StoreError(`${to}: has another response log; use an empty one`)
  return owner
}

async function compare(source: MoveSource, target: MoveTarget) {
  const [damaged, differing] = [[] as string[], [] as string[]]
  let records = 0
  for (const part of source.export()) {
    damaged.push(...part.damaged)
    records += part.records.length
    const compareWithCopy = async ({ record }: MovedRecord) => {
      if (!isDeepStrictEqual(await target.read(record.identity), record)) differing.push(record.identity)
    }
    for (let from = 0; from < part.records.length; from += READS_MAX)
      await Promise.all(part.records.slice(from, from + READS_MAX).map(compareWithCopy))
  }
  if (differing.length > 0) throw new StoreError(`${differing.length} records differ in the target: ${differing[0]}`)
  return { records, damaged }
}
