/**
 * Layout version 2 of the response log, which had a database for each list. Commands read it as it is. The first
 * process that writes moves the lists, in small transactions that the next process continues after a kill. Records stay
 * where they are.
 */
import { asBinary, type RootDatabase } from 'lmdb'
import { readerIdsOf, StoreError } from '../files/environment.ts'
import { FORMER_LAYOUT_VERSION, LAYOUT_KEY, LAYOUT_VERSION, recordKeyIn, type Layout } from '../files/layout.ts'
import { changeKey, digestOf, openFormer } from './ranges.ts'

type Environment = RootDatabase<unknown, string>

/** The databases of layout 2, and the entries that theirs become. */
const MOVED: Record<string, (key: string | number, value: Buffer) => [key: string, value: Buffer]> = {
  unfinished: (key) => [`unfinished:${key}`, Buffer.from(recordKeyIn(String(key)))],
  finished: (key, value) => [`finished:${key}`, value],
  'payment-ids': (key, value) => [`payment-id:${digestOf(String(key))}`, value],
  unrecorded: (key, value) => [`unrecorded:${key}`, value],
  changes: (key, value) => [`change:${changeKey(Number(key))}`, Buffer.from(String(value).replace('identity', 'key'))],
  removed: (key, value) => [`removed:${key}`, value],
}
const UPGRADED = { kind: 'responses', version: LAYOUT_VERSION.responses, hasFormerRecords: true } as const
/** Few enough that LMDB keeps their pages in memory. */
const KEYS_PER_TRANSACTION = 500

/**
 * @param check called before each transaction
 * @throws StoreError while another process has the environment open: one of the version before checks the layout only
 * when it opens it, and would write version 2
 */
export function upgradeLayout(environment: Environment, check: () => void = () => undefined): void {
  check()
  const { version } = environment.get(LAYOUT_KEY) as Layout
  if (version === FORMER_LAYOUT_VERSION.responses) begin(environment)
  for (const [name, toEntry] of Object.entries(MOVED)) {
    const former = openFormer(environment, name)
    const moveSome = () => {
      const keys: (string | number)[] = [...former.getKeys({ limit: KEYS_PER_TRANSACTION })]
      for (const key of keys) {
        // As bytes, because a value may be damaged.
        const [moved, value] = toEntry(key, former.getBinary(key as string) ?? Buffer.alloc(0))
        environment.putSync(moved, asBinary(value))
        former.removeSync(key as string)
      }
      return keys.length
    }
    while (environment.transactionSync(moveSome) > 0) check()
  }
  environment.putSync(LAYOUT_KEY, { ...UPGRADED, isUpgrading: false })
  // Reads of the same turn of the event loop would show the state before.
  environment.resetReadTxn()
}

/** From then on a process of the version before refuses the log. */
function begin(environment: Environment): void {
  environment.transactionSync(() => {
    const hasFormerRecords = environment.doesExist('records')
    const layout = {
      kind: 'responses',
      version: LAYOUT_VERSION.responses,
      isUpgrading: true,
      hasFormerRecords,
    } as const
    environment.putSync(LAYOUT_KEY, layout)
    // Last, so that a process that was started meanwhile is seen too.
    const others = readerIdsOf(environment).filter((id) => id !== process.pid)
    if (others.length > 0)
      throw new StoreError(`The response log needs an upgrade: stop the processes that use it (${others.join(', ')})`)
  })
}
