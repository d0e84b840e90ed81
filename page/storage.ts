/** The purchases of this browser, in IndexedDB. An entry is on disk when its transaction has completed. */
import type { BuyerStorage } from '../agent/buyer/library/storage.ts'

const DATABASE = 'irish-company-purchases'
const ENTRIES = 'entries'

const open = (): Promise<IDBDatabase> =>
  new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE)
    request.addEventListener('upgradeneeded', () => request.result.createObjectStore(ENTRIES))
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error as Error))
  })

async function run<Result>(
  mode: IDBTransactionMode,
  work: (entries: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const database = await open()
  const transaction = database.transaction(ENTRIES, mode, { durability: 'strict' })
  const request = work(transaction.objectStore(ENTRIES))
  // The database closes when the transaction has ended.
  database.close()
  return new Promise((resolve, reject) => {
    transaction.addEventListener('complete', () => resolve(request.result))
    transaction.addEventListener('abort', () => reject(transaction.error as Error))
  })
}

export const storage: BuyerStorage = {
  read: (name) => run<string | undefined>('readonly', (entries) => entries.get(name)),
  create: (name, text) =>
    run('readwrite', (entries) => entries.add(text, name)).then(
      () => true,
      (cause: Error) => (cause.name === 'ConstraintError' ? false : Promise.reject(cause)),
    ),
  replace: async (name, text) => void (await run('readwrite', (entries) => entries.put(text, name))),
  list: async (prefix) =>
    (await run('readonly', (entries) => entries.getAllKeys(IDBKeyRange.bound(prefix, `${prefix}\uffff`)))).map(String),
  locate: (name) => `the purchase ${name} of this browser`,
}
