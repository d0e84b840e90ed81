/**
 * Moves a response log from LMDB to PostgreSQL, for the command `move-log`. All services are stopped. The source gets a
 * mark, after which no process changes it, and stays as it is. The target gets its owner last, and has a mark until it
 * is complete. Each step can be repeated after a kill.
 */
import { isDeepStrictEqual } from 'node:util'
import { groupsOf } from '../../base/groups-of.ts'
import { StoreError } from '../files/environment.ts'
import type { StoredDocument } from './documents.ts'
import { OWNER, ownerOf } from './owner.ts'
import type { ResponseRecord } from './record.ts'
import type { ResponseLog } from './responses.ts'

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
  /** All records. */
  export(): Iterable<LogPart>
  documents(): ReadonlyMap<string, StoredDocument<unknown>>
}

export interface MoveTarget extends ResponseLog {
  /** Adds a part of another log. Can be repeated with the same part. */
  importRecords(part: LogPart): Promise<void>
  /** Adds documents, with their revisions and times, unless the log has them. */
  importDocuments(documents: ReadonlyMap<string, StoredDocument<unknown>>): Promise<void>
}

/** The document of a source: where it moves. No process changes the log then. */
export const MOVED = 'moved'
const movedOf = (log: Pick<ResponseLog, 'document'>) => log.document<{ to: string }>(MOVED)
/** The document of a target: the id of the log while it is not complete. */
const INCOMPLETE = 'incomplete'
const incompleteOf = (log: Pick<ResponseLog, 'document'>) => log.document<{ log_id: string | null }>(INCOMPLETE)

/** Why a service must not start with this log, as one line. */
export async function findMoveFault(log: Pick<ResponseLog, 'document'>): Promise<string | undefined> {
  const moved = await movedOf(log).read()
  if (moved) return `The response log was moved to ${moved.value.to}: use that one`
  const isIncomplete = typeof (await incompleteOf(log).read())?.value.log_id === 'string'
  return isIncomplete ? 'The response log is not complete: repeat "move-log"' : undefined
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
  const { owner, log_id } = await prepare({ source, target, to })
  const moved = (await movedOf(source).read()) ?? (await movedOf(source).compareAndSet({ to }, undefined))
  if (moved?.value.to !== to) throw new StoreError('The response log moves elsewhere meanwhile')
  for (const part of source.export()) await target.importRecords(part)
  const marks = new Set([OWNER, MOVED, INCOMPLETE])
  await target.importDocuments(new Map([...source.documents()].filter(([key]) => !marks.has(key))))
  const counts = await compare(source, target)
  await target.importDocuments(new Map([[OWNER, owner]]))
  if ((await ownerOf(target).read())?.value.log_id !== log_id)
    throw new StoreError(`${to}: has got another response log meanwhile`)
  await incompleteOf(target).compareAndSet({ log_id: null }, (await incompleteOf(target).read())?.revision)
  return counts
}

/** Marks the target as incomplete, and changes nothing else. */
async function prepare({ source, target, to }: Move) {
  const owner = await ownerOf(source).read()
  if (!owner) throw new StoreError('The response log is new, so there is nothing to move')
  const { log_id } = owner.value
  const others = source.otherProcesses()
  if (others.length > 0)
    throw new StoreError(`Other processes have the response log open, stop them first: ${others.join(', ')}`)
  const movedTo = (await movedOf(source).read())?.value.to ?? to
  if (movedTo !== to) throw new StoreError(`The response log moves to ${movedTo}: finish that`)
  const incomplete = await incompleteOf(target).read()
  const incompleteId = incomplete?.value.log_id ?? undefined
  if (incompleteId === log_id) return { owner, log_id }
  const stored = await ownerOf(target).read()
  if (stored?.value.log_id === log_id)
    throw new StoreError(`${to}: has this response log already; the move is complete`)
  // A log that was restored in part can have records without an owner.
  if (incompleteId !== undefined || stored || !(await isEmpty(target)))
    throw new StoreError(`${to}: has another response log; use an empty one`)
  await incompleteOf(target).compareAndSet({ log_id }, incomplete?.revision)
  return { owner, log_id }
}

async function isEmpty(log: ResponseLog): Promise<boolean> {
  const pages = await Promise.all((['open', 'final'] as const).map((kind) => log.list({ kind, max: 1 })))
  return pages.every(({ identities }) => identities.length === 0)
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
    for (const group of groupsOf(part.records, READS_MAX)) await Promise.all(group.map(compareWithCopy))
  }
  if (differing.length > 0) throw new StoreError(`${differing.length} records differ in the target: ${differing[0]}`)
  return { records, damaged }
}
