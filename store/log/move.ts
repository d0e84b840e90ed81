/**
 * Moves a response log to another one, for the command `move-log`. The source is fenced first and stays as it is. The
 * target gets its owner last, and has a mark until it is complete. Each step can be repeated after a kill.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { StoreError } from '../files/environment.ts'
import type { ResponseRecord } from './record.ts'
import type { AnnouncedKey, ResponseLog } from './responses.ts'

interface MovedRecord {
  readonly record: ResponseRecord
  /** Whether its payment id leads to this record, and not to another one or to none. */
  readonly holdsPaymentId: boolean
}

export type LogPart =
  /** `damaged` has the keys of records that cannot be read. */
  { kind: 'records'; records: MovedRecord[]; damaged: string[] } | { kind: 'keys'; publicKeys: AnnouncedKey[] }

/** A part has at most so many records, and ends with the one that exceeds the bytes. It is one statement. */
export const PART = { RECORDS_MAX: 500, BYTES_MAX: 2 * 2 ** 20 } as const

/** Reads of the target at once. A database has some connections. */
const READS_MAX = 50

/** A log that can be moved. LMDB and PostgreSQL implement it. */
export interface MovableLog extends ResponseLog {
  /** Makes every claim and every change fail, in all processes. Can be repeated. */
  fence(mark: string): Promise<void>
  liftFence(): Promise<void>
  /** The records and the public keys. Other methods return the rest of the log. */
  export(): AsyncIterable<LogPart>
  /** Adds a part of another log. Can be repeated with the same part. */
  import(part: LogPart): Promise<void>
}

/** The note of a source: where it moves, and the id of the move. No other process changes the log. */
export const MOVED_NOTE = 'move/to'
/** The note of a target that is not complete: the id of the move. */
const INCOMPLETE_NOTE = 'move/incomplete'
const MARKS = 'move/'
const CANCELLED = 'cancelled'

const markSchema = z.object({ id: z.uuid(), to: z.string() })

/** Why a service must not start with this log, as one line. */
export async function findMoveFault(log: Pick<ResponseLog, 'notes'>): Promise<string | undefined> {
  const marks = await log.notes(MARKS)
  const mark = marks.get(MOVED_NOTE)
  if (mark !== undefined) return `The response log was moved to ${parseMark(mark).to}: use that one`
  return marks.has(INCOMPLETE_NOTE) ? 'The response log is not complete: repeat "move-log"' : undefined
}

interface Move {
  source: MovableLog
  target: MovableLog
  /** The target, for messages. */
  to: string
}

/**
 * Copies all of `source` to `target`, and compares every record.
 * @returns the numbers of copied records, and the keys of damaged ones, which are not copied
 * @throws StoreError if the target has another log, or differs from the source afterwards
 */
export async function moveLog({ source, target, to }: Move): Promise<{ records: number; damaged: string[] }> {
  const { id, owner } = await prepare({ source, target, to })
  await source.fence(JSON.stringify({ id, to }))
  await target.setNote(INCOMPLETE_NOTE, id)
  for await (const part of source.export()) await target.import(part)
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
  const marks = await source.notes(MARKS)
  const mark = marks.has(MOVED_NOTE) ? parseMark(marks.get(MOVED_NOTE)) : undefined
  if (marks.has(INCOMPLETE_NOTE)) throw new StoreError('The response log is itself the target of an unfinished move')
  if (mark && mark.to !== to) throw new StoreError(`The response log moves to ${mark.to}: finish or cancel that first`)
  const id = mark?.id ?? randomUUID()
  const incomplete = (await target.notes(MARKS)).get(INCOMPLETE_NOTE)
  if (incomplete === id) return { id, owner }
  if (mark && (await target.owner())?.log_id === owner.log_id)
    throw new StoreError(`${to}: has this response log already; the move is complete`)
  if (incomplete !== undefined || !(await isEmpty(target)))
    throw new StoreError(`${to}: has another response log; use an empty one`)
  return { id, owner }
}

/** A log that was restored in part can have records without an owner. */
async function isEmpty(log: MovableLog): Promise<boolean> {
  if ((await log.owner()) !== undefined) return false
  for await (const part of log.export())
    if (part.kind === 'records' && part.records.length + part.damaged.length > 0) return false
  return true
}

async function compare(source: MovableLog, target: MovableLog) {
  const [damaged, differing] = [[] as string[], [] as string[]]
  let records = 0
  for await (const part of source.export()) {
    if (part.kind !== 'records') continue
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

/**
 * Gives up an unfinished move. The target cannot be used before the source can be used again.
 * @throws StoreError if there is no move to this target, or if it is complete
 */
export async function cancelMove({ source, target, to }: Move): Promise<void> {
  const mark = (await source.notes(MARKS)).get(MOVED_NOTE)
  if (mark === undefined || parseMark(mark).to !== to) throw new StoreError(`No move to ${to} has begun`)
  const incomplete = (await target.notes(MARKS)).get(INCOMPLETE_NOTE)
  if (incomplete === undefined && (await target.owner()) !== undefined)
    throw new StoreError(`The move to ${to} is complete`)
  if (incomplete === undefined || incomplete === parseMark(mark).id) await target.setNote(INCOMPLETE_NOTE, CANCELLED)
  await source.liftFence()
}

function parseMark(mark: string | undefined) {
  return markSchema.parse(JSON.parse(mark ?? ''))
}
