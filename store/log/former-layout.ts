/**
 * Layout version 2 of the response log, which had a database for each list and one value for a record. The first
 * process that writes moves them, in small transactions that the next process continues after a kill.
 */
import { asBinary, type RootDatabase } from 'lmdb'
import { undefinedIfCorrupt } from '../files/checksum.ts'
import { readerIdsOf, StoreError } from '../files/environment.ts'
import { FORMER_RESPONSES_VERSION, LAYOUT_KEY, LAYOUT_VERSION, recordKeyIn, type Layout } from '../files/layout.ts'
import { digestOf, newRecordKey, openRanges, type LogRanges } from './ranges.ts'
import { decodeRecord, encodeProgress, encodeRecord } from './record.ts'

type Environment = RootDatabase<unknown, string>

/** The databases of layout 2, in the order in which they move. Changes are dropped: the next backup is a full one. */
const MOVES: Record<string, (log: LogRanges, key: string, value: Buffer) => void> = {
  records: moveRecord,
  unfinished(log, key) {
    const identity = recordKeyIn(key)
    log.unfinished.put(key.replace(identity, recordKeyOf(log, identity)), asBinary(Buffer.from(identity)))
  },
  finished(log, key) {
    const identity = recordKeyIn(key)
    log.finished.put(key.replace(identity, recordKeyOf(log, identity)), true)
  },
  'payment-ids': (log, key, value) =>
    log.paymentIds.put(digestOf(key), recordKeyOf(log, String(value).replaceAll('"', ''))),
  unrecorded: (log, key, value) => log.unrecorded.put(key, asBinary(value)),
  changes: () => undefined,
}
/** Few enough that LMDB keeps their pages in memory. */
const KEYS_PER_TRANSACTION = 500

/**
 * @param check called before each transaction
 * @throws StoreError while another process has the environment open: one of the version before checks the layout only
 * when it opens it, and would write version 2
 */
export function upgradeLayout(environment: Environment, check: () => void = () => undefined): void {
  check()
  if (isFormerLayout(environment)) begin(environment)
  const log = openRanges(environment)
  for (const [name, move] of Object.entries(MOVES)) {
    const former = environment.openDB<unknown, string>({ name, encoding: 'json' })
    const moveSome = () => {
      const keys = [...former.getKeys({ limit: KEYS_PER_TRANSACTION })]
      for (const key of keys) {
        // As bytes, because a value may be damaged.
        move(log, key, former.getBinary(key) ?? Buffer.alloc(0))
        former.removeSync(key)
      }
      return keys.length
    }
    while (environment.transactionSync(moveSome) > 0) check()
  }
  environment.putSync(LAYOUT_KEY, { kind: 'responses', version: LAYOUT_VERSION.responses })
  // Reads of the same turn of the event loop would show the state before.
  environment.resetReadTxn()
}

function isFormerLayout(environment: Environment): boolean {
  return (environment.get(LAYOUT_KEY) as Layout).version === FORMER_RESPONSES_VERSION
}

/** From then on a process of the version before refuses the log. */
function begin(environment: Environment): void {
  environment.transactionSync(() => {
    environment.putSync(LAYOUT_KEY, { kind: 'responses', version: LAYOUT_VERSION.responses, isUpgrading: true })
    // Last, so that a process that was started meanwhile is seen too.
    const others = readerIdsOf(environment).filter((id) => id !== process.pid)
    if (others.length > 0)
      throw new StoreError(`The response log needs an upgrade: stop the processes that use it (${others.join(', ')})`)
  })
}

/** A damaged record stays for the operator, as it is. */
function moveRecord(log: LogRanges, identity: string, bytes: Buffer): void {
  const digest = digestOf(identity)
  const record = undefinedIfCorrupt(() => decodeRecord(bytes))
  const key = record ? newRecordKey(record.prepared_at, digest) : recordKeyOf(log, identity)
  log.identities.put(digest, key)
  log.records.put(key, asBinary(record ? encodeRecord(record) : bytes))
  if (record) log.progress.put(key, asBinary(encodeProgress(record)))
}

/** The key of a record that has moved, or of a damaged one, whose time is not known. */
function recordKeyOf({ identities }: LogRanges, identity: string): string {
  const digest = digestOf(identity)
  return identities.get(digest) ?? newRecordKey(new Date(0).toISOString(), digest)
}
