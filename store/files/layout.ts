/**
 * The keys and values of everything on disk. Each LMDB environment has 'layout' -> { kind, version }.
 *
 *   {DATA_DIR}/catalog/            LMDB: which snapshot is current
 *     'current'                 -> the last retrieval (JSON)
 *   {DATA_DIR}/snapshots/{hex}/    LMDB: one folder per snapshot, named by its id, read-only once it has that name
 *     'info'                    -> SnapshotInfo (JSON)
 *     companies: companyKey     -> SnapshotEntry with checksum (store/dataset/company-entry.ts)
 *     names.index                  the name index, a separate file (store/index/index-file.ts)
 *   {DATA_DIR}/history/            LMDB: what each file of the register said (store/history)
 *     steps: step               -> Retrieval with checksum
 *     versions: step companyKey -> the step of the version before, state with checksum
 *     latest: companyKey        -> the step and the checksum of the newest version
 *     erased: companyKey        -> the time of the erasure
 *     former-names: digest companyKey  -> a version whose name is no longer current, and its last day
 *     former-names: 'normaliser'       -> the version of the normaliser that made them
 *   {DATA_DIR}/building/{name}/    LMDB: a snapshot that is being built; only a killed import leaves one behind
 *   {DATA_DIR}/import/             LMDB: the process of the command `import`
 *     'holder'                  -> its process id
 *   {DATA_DIR}/responses/          LMDB: the response log, a separate environment because its writes are synced
 *     'probe'                   -> written to check that the log can be written
 *     identity: digest          -> the key of the record of this payment: the time of its claim, and the digest. So the
 *                                  entries of sales at the same time are on the same pages
 *     claim: key                -> the ResponseRecord of the claim with checksum; written once
 *     progress: key             -> what has changed since, with checksum
 *     unfinished: state:time key -> its identity, one per record that is not final, in the order in which they are due
 *     finished: time key        -> its identity, one per final record, in the order in which they became final
 *     payment-id: digest        -> the key of the record that has this payment id and is not void
 *     document: key             -> StoredDocument: a small value that all processes share (store/log/documents.ts)
 *                                  The word before the colon is part of the key: all these are in one tree, and a
 *                                  settlement changes the last `progress` and the first `unfinished`
 *   {DATA_DIR}/response-log.json   the id of the response log that this directory uses (store/log/directory-files.ts)
 *   {DATA_DIR}/last-backup.json    the time and the size of the last backup
 *   {DATA_DIR}/receivers.json      the receivers that this directory was used with
 *   {DATA_DIR}/relayers/{address}/ LMDB: the process that settles with this relayer
 *     'holder'                  -> its process id
 *
 * Keys are strings in LMDB's byte order. Raise a version when older code would misread the environment. A
 * snapshot of another version is treated as missing, so the next import builds it again.
 */
import { join } from 'node:path'

export type EnvironmentKind = 'catalog' | 'snapshot' | 'history' | 'responses' | 'lock'

export const LAYOUT_VERSION: Record<EnvironmentKind, number> = {
  catalog: 1,
  snapshot: 3,
  history: 2,
  responses: 4,
  lock: 1,
}

/** The value of {@link LAYOUT_KEY}. */
export interface Layout {
  readonly kind: EnvironmentKind
  readonly version: number
}

export const LAYOUT_KEY = 'layout'
export const INFO_KEY = 'info'
export const NAMES_FILE = 'names.index'
export const COMPANIES_DATABASE = 'companies'

const BEFORE_A = 'A'.charCodeAt(0) - 1

/**
 * The key of a company number: a letter for its length (A for one digit, T for twenty), then the number. Byte order is
 * then numeric order, which is the order of the register's file: an import only appends pages.
 */
export const companyKey = (companyNumber: string) =>
  String.fromCharCode(BEFORE_A + companyNumber.length) + companyNumber
export const companyNumberOf = (key: string) => key.slice(1)

/** The key of a final record in `finished`. ISO 8601 times in UTC sort as text. */
export const finishedKey = (record: { updated_at: string }, key: string) => `${record.updated_at} ${key}`
/** The key of another record in `unfinished`. */
export const unfinishedKey = (record: { state: string; due_at?: string; prepared_at: string }, key: string) =>
  `${record.state}:${record.due_at ?? record.prepared_at} ${key}`
/** The key of the record in such a key. */
export const recordKeyIn = (key: string) => key.slice(key.indexOf(' ') + 1)

export const catalogFolder = (dataDirectory: string) => join(dataDirectory, 'catalog')
export const responsesFolder = (dataDirectory: string) => join(dataDirectory, 'responses')
export const buildingFolder = (dataDirectory: string) => join(dataDirectory, 'building')
export const importLockFolder = (dataDirectory: string) => join(dataDirectory, 'import')
export const snapshotsFolder = (dataDirectory: string) => join(dataDirectory, 'snapshots')
export const snapshotFolder = (dataDirectory: string, snapshotId: string) =>
  join(snapshotsFolder(dataDirectory), snapshotId.replace('sha256:', ''))
export const historyFolder = (dataDirectory: string) => join(dataDirectory, 'history')
export const relayerFolder = (dataDirectory: string, address: string) =>
  join(dataDirectory, 'relayers', address.toLowerCase())
export const sandboxFolder = (dataDirectory: string) => join(dataDirectory, 'sandbox')
export const BUYER_KEY_FILE = 'buyer.key'
