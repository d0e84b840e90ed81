/** The purchases of this browser, in IndexedDB. An entry is on disk when its transaction has completed. */
import type { BuyerStorage } from '../agent/buyer/library/storage.ts'

const DATABASE = 'irish-company-purchases'
const ENTRIES = 'entries'

/** Rejects with the error of a request or a transaction, which has its result when `event` fires. */
const settled = (target: IDBRequest | IDBTransaction, event: 'success' | 'complete'): Promise<void> =>
  new Promise((resolve, reject) => {
    target.addEventListener(event, () => resolve())
    // The error of a request reaches the transaction before it has an error itself.
    for (const failure of ['error', 'abort'])
      target.addEventListener(failure, ({ target: failed }) =>
        reject((failed as IDBRequest | IDBTransaction).error ?? new Error('The browser cannot store')),
      )
  })

async function open(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE)
  request.addEventListener('upgradeneeded', () => request.result.createObjectStore(ENTRIES))
  await settled(request, 'success')
  return request.result
}

async function run<Result>(
  mode: IDBTransactionMode,
  work: (entries: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const database = await open()
  try {
    const transaction = database.transaction(ENTRIES, mode, { durability: 'strict' })
    const done = settled(transaction, 'complete')
    const request = work(transaction.objectStore(ENTRIES))
    await done
    return request.result
  } finally {
    database.close()
  }
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
