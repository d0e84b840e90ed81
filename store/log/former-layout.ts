/**
 * Layout version 1 of the response log. Its database `unfinished` had the records that are not final, each after a
 * revision of eight bytes. Commands read it as it is; the first process that writes upgrades it.
 */
import type { Database, RootDatabase } from 'lmdb'
import { undefinedIfCorrupt } from '../files/checksum.ts'
import { readerIdsOf, StoreError } from '../files/environment.ts'
import { LAYOUT_KEY, LAYOUT_VERSION, unfinishedKey } from '../files/layout.ts'
import { openDatabases } from './databases.ts'
import { decodeRecord } from './record.ts'

type Environment = RootDatabase<unknown, string>
type Former = Database<Buffer, string>

/** The records of version 1 that are not final, by identity. Undefined if the environment has the present layout. */
export function openFormerRecords(environment: Environment): Former | undefined {
  const { version } = environment.get(LAYOUT_KEY) as { version: number }
  if (version === LAYOUT_VERSION.responses) return undefined
  return environment.openDB({ name: 'unfinished', encoding: 'binary' })
}

/** Without its revision. Empty if the value is damaged and shorter than one. */
export function readFormerRecord(former: Former | undefined, identity: string): Buffer | undefined {
  return former?.getBinary(identity)?.subarray(8)
}

/** Every record of either layout, also damaged ones. */
export function* recordsIn(environment: Environment): Iterable<{ key: string; value: Buffer }> {
  yield* openDatabases(environment).records.getRange({})
  const former = openFormerRecords(environment)
  for (const key of former?.getKeys() ?? []) yield { key, value: readFormerRecord(former, key) ?? Buffer.alloc(0) }
}

/**
 * Moves the records that are not final to the others, so a large log takes seconds, and a kill changes nothing.
 * @throws StoreError while another process has the environment open: one of the version before checks the layout only
 * when it opens it, and would write version 1
 */
export function upgradeLayout(environment: Environment): void {
  const { records, unfinished } = openDatabases(environment)
  environment.transactionSync(() => {
    const former = openFormerRecords(environment)
    const identities = [...(former?.getKeys() ?? [])]
    for (const identity of identities) {
      const bytes = readFormerRecord(former, identity) ?? Buffer.alloc(0)
      const record = undefinedIfCorrupt(() => decodeRecord(bytes))
      records.putSync(identity, bytes)
      unfinished.removeSync(identity)
      // A damaged record is listed, so that the operator notices it.
      unfinished.putSync(unfinishedKey({ state: 'unknown', prepared_at: '', ...record, identity }), true)
    }
    environment.putSync(LAYOUT_KEY, { kind: 'responses', version: LAYOUT_VERSION.responses })
    // Last, so that a process that was started meanwhile is seen too.
    const others = readerIdsOf(environment).filter((id) => id !== process.pid)
    if (others.length > 0)
      throw new StoreError(`The response log needs an upgrade: stop the processes that use it (${others.join(', ')})`)
  })
}
