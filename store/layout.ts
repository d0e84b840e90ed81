/**
 * The keys and values of everything on disk, on one page.
 *
 *   {DATA_DIR}/catalog/            LMDB, which snapshot is current
 *     'layout'                  -> { kind: 'catalog', version }
 *     'current'                 -> Retrieval (JSON)
 *   {DATA_DIR}/snapshots/{hex}/    LMDB, one folder a snapshot, named by its id, never changed once it has that name
 *     'layout'                  -> { kind: 'snapshot', version }
 *     'info'                    -> SnapshotInfo (JSON)
 *     companies: companyKey     -> sealed entry (store/company)
 *     names.index                  the name index, a file of its own (store/index/sections)
 *   {DATA_DIR}/building/{name}/    LMDB, a snapshot in the making; left behind only by a killed import
 *   {DATA_DIR}/responses/          LMDB, the response log, apart from the data so that its sync settings are its own
 *     'layout'                  -> { kind: 'responses', version }
 *     unfinished-records: identity -> revision, sealed ResponseRecord, of those whose state is not final
 *     records: identity         -> sealed ResponseRecord, of the others
 *     finished: time identity   -> true, for each of the others, in the order in which they ended
 *     payment-ids: payer, id   -> identity, of those that were given an id by their buyer and have not come to nothing
 *     In version 2 records held all, payment-ids those of all that had an id, and unfinished: identity -> true those whose
 *     state was not final. Version 1 had neither finished nor payment-ids, and took `settled` for final.
 *   {DATA_DIR}/limits/{boot}/      LMDB, the rate limit's window, written without sync and never read after another boot
 *     'layout'                  -> { kind: 'limits', version }
 *     'total'                   -> { revision, tally }: what all entries add up to
 *     entries: time id          -> Tally: places that one process took at once
 *
 * Keys are strings in LMDB's byte order. A version is raised when older code would read the folder wrongly.
 */
import { join } from 'node:path'

export type EnvironmentKind = 'catalog' | 'snapshot' | 'responses' | 'limits'

export const LAYOUT_VERSION: Record<EnvironmentKind, number> = { catalog: 1, snapshot: 2, responses: 3, limits: 1 }

/** The oldest layout that can still be brought up to date, by who writes. The money on record outlives a version. */
export const OLDEST_LAYOUT: Record<EnvironmentKind, number> = { catalog: 1, snapshot: 2, responses: 1, limits: 1 }

export const LAYOUT_KEY = 'layout'
export const CURRENT_KEY = 'current'
export const INFO_KEY = 'info'
/** The name index of a snapshot, beside its LMDB. */
export const NAMES_FILE = 'names.index'
export const COMPANIES_DATABASE = 'companies'
export const RECORDS_DATABASE = 'records'
export const UNFINISHED_DATABASE = 'unfinished-records'
/** Of versions 1 and 2. A program of theirs that still runs must find nothing under that name that it could overwrite. */
export const UNFINISHED_LIST_DATABASE = 'unfinished'
export const FINISHED_DATABASE = 'finished'
export const PAYMENT_IDS_DATABASE = 'payment-ids'
export const TOTAL_KEY = 'total'
export const ENTRIES_DATABASE = 'entries'

/** Before the letter that stands for one digit. */
const BEFORE_A = 64

/**
 * The key of a company number: a letter for its length (A for one digit, T for twenty), and the number. LMDB's byte order
 * is then the order of the numbers, which the register's file has too, so that it fills page after page and moves none.
 */
export const companyKey = (companyNumber: string) =>
  String.fromCharCode(BEFORE_A + companyNumber.length) + companyNumber
export const companyNumberOf = (key: string) => key.slice(1)

/** Enough for every time that a Date can hold. */
const TIME_DIGITS = 16

/** The key of places in the rate limit's window: in the order of the times, in milliseconds, until which they are taken. */
export const entryKey = (time: number, id: string) => `${String(time).padStart(TIME_DIGITS, '0')} ${id}`
export const entryTime = (key: string) => Number(key.slice(0, TIME_DIGITS))

/** The key of a record that has ended: in the order of time, as ISO 8601 in UTC sorts as text. */
export const endKey = ({ updated_at, identity }: { updated_at: string; identity: string }) =>
  `${updated_at} ${identity}`

export const catalogFolder = (dataDirectory: string) => join(dataDirectory, 'catalog')
export const responsesFolder = (dataDirectory: string) => join(dataDirectory, 'responses')
export const buildingFolder = (dataDirectory: string) => join(dataDirectory, 'building')
export const snapshotsFolder = (dataDirectory: string) => join(dataDirectory, 'snapshots')
export const snapshotFolder = (dataDirectory: string, snapshotId: string) =>
  join(snapshotsFolder(dataDirectory), snapshotId.replace('sha256:', ''))
export const limitsFolder = (dataDirectory: string) => join(dataDirectory, 'limits')
