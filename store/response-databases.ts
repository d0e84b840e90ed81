/** The databases of the response log, opened, and brought up to date where an older program has left them. */
import type { Database, RootDatabase } from 'lmdb'
import {
  endKey,
  FINISHED_DATABASE,
  LAYOUT_KEY,
  LAYOUT_VERSION,
  PAYMENT_IDS_DATABASE,
  RECORDS_DATABASE,
  responsesFolder,
  UNFINISHED_DATABASE,
  UNFINISHED_LIST_DATABASE,
} from './layout.ts'
import { layoutOf, openEnvironment, StoreError } from './open.ts'
import { firstRevision, hasComeToNothing, isFinal, recordIn, type ResponseRecord } from './record.ts'
import { CorruptRecord, unlessCorrupt } from './seal.ts'

interface ResponseDatabases {
  environment: RootDatabase<unknown, string>
  unfinished: Database<Buffer, string>
  records: Database<Buffer, string>
  finished: Database<true, string>
  paymentIds: Database<string, string>
}

interface Wanted {
  dataDirectory: string
  readOnly: boolean
}

export function openResponseDatabases({ dataDirectory, readOnly }: Wanted): ResponseDatabases {
  const folder = responsesFolder(dataDirectory)
  const environment = openEnvironment({ folder, kind: 'responses', readOnly })
  const databases: ResponseDatabases = {
    environment,
    unfinished: environment.openDB({ name: UNFINISHED_DATABASE, encoding: 'binary', useVersions: true }),
    records: environment.openDB({ name: RECORDS_DATABASE, encoding: 'binary' }),
    finished: environment.openDB({ name: FINISHED_DATABASE, encoding: 'json' }),
    paymentIds: environment.openDB({ name: PAYMENT_IDS_DATABASE, encoding: 'json' }),
  }
  if (layoutOf(environment) < LAYOUT_VERSION.responses) {
    try {
      upgrade(databases)
    } catch (cause) {
      environment.close().catch(() => undefined)
      throw new StoreError(`${folder}: could not be brought up to date`, { cause })
    }
  }
  return databases
}

/** The payment that a payment id is held by. */
export function holderOf(paymentIds: Database<string, string>, paymentId: string): string | undefined {
  try {
    return paymentIds.get(paymentId)
  } catch (cause) {
    throw new CorruptRecord('A payment id cannot be read', { cause })
  }
}

/** What can't be read is left where it is, or where the operator is shown it. */
function upgrade(databases: ResponseDatabases): void {
  const { environment, unfinished, records, finished, paymentIds } = databases
  const list = environment.openDB<true, string>({ name: UNFINISHED_LIST_DATABASE, encoding: 'json' })
  environment.transactionSync(() => {
    // Another process may have done it while this one waited for its turn.
    const from = layoutOf(environment)
    if (from >= LAYOUT_VERSION.responses) return
    const listed = new Set(list.getKeys())
    for (const identity of from === 1 ? new Set([...records.getKeys(), ...listed]) : listed) {
      void list.remove(identity)
      const bytes = records.getBinary(identity)
      const record = bytes && unlessCorrupt(() => recordIn(Buffer.from(bytes)))
      if (record && isFinal(record.state)) void finished.put(endKey(record), true)
      else if (bytes && (record || listed.has(identity))) {
        void unfinished.put(identity, Buffer.from(bytes), firstRevision())
        void records.remove(identity)
      }
    }
    for (const paymentId of new Set(paymentIds.getKeys())) {
      const identity = unlessCorrupt(() => holderOf(paymentIds, paymentId))
      if (identity !== undefined && isFree(databases, identity)) void paymentIds.remove(paymentId)
    }
    void environment.put(LAYOUT_KEY, { kind: 'responses', version: LAYOUT_VERSION.responses })
  })
}

/** Whether a payment holds no id any more, or is not there. */
function isFree({ unfinished, records }: ResponseDatabases, identity: string): boolean {
  if (unfinished.doesExist(identity)) return false
  const bytes = records.getBinary(identity)
  const record: ResponseRecord | undefined = bytes && unlessCorrupt(() => recordIn(Buffer.from(bytes)))
  return !bytes || (record !== undefined && hasComeToNothing(record.state))
}
