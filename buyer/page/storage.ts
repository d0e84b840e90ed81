/** The purchases of this browser, in IndexedDB. An entry is on disk when its transaction has completed. */
import { listPurchases, type ListedPurchase } from '../library/purchase-state.ts'
import type { BuyerStorage } from '../library/storage.ts'
import type { Operation } from '../../agent/operation/operation.ts'
import { isSame } from './question.ts'

const ENTRIES = 'entries'

const database = new Promise<IDBDatabase>((resolve, reject) => {
  const request = indexedDB.open('irish-company-purchases')
  request.addEventListener('upgradeneeded', () => request.result.createObjectStore(ENTRIES))
  request.addEventListener('success', () => resolve(request.result))
  request.addEventListener('error', () => reject(request.error as Error))
})

async function run<Result>(mode: IDBTransactionMode, work: (entries: IDBObjectStore) => IDBRequest<Result>) {
  const transaction = (await database).transaction(ENTRIES, mode, { durability: 'strict' })
  const request = work(transaction.objectStore(ENTRIES))
  return new Promise<Result>((resolve, reject) => {
    transaction.addEventListener('complete', () => resolve(request.result))
    transaction.addEventListener('abort', () => reject(transaction.error as Error))
  })
}

/** Tells the other documents of this browser that an entry has changed. */
const channel = new BroadcastChannel('purchases')
export const onStored = (work: () => void): void => channel.addEventListener('message', work)
const tell = <Result>(result: Result): Result => {
  channel.postMessage('')
  return result
}

export const storage = {
  read: (name: string) => run<string | undefined>('readonly', (entries) => entries.get(name)),
  create: (name: string, text: string) =>
    run('readwrite', (entries) => entries.add(text, name)).then(
      () => tell(true),
      (cause: Error) => (cause.name === 'ConstraintError' ? false : Promise.reject(cause)),
    ),
  replace: async (name: string, text: string) =>
    void tell(await run('readwrite', (entries) => entries.put(text, name))),
  list: async (prefix: string) =>
    (await run('readonly', (entries) => entries.getAllKeys(IDBKeyRange.bound(prefix, `${prefix}\uffff`)))).map(String),
  locate: (name: string) => `the purchase ${name} of this browser`,
  remove: (name: string) => run<undefined>('readwrite', (entries) => entries.delete(name)).then(tell),
} satisfies BuyerStorage & { remove: unknown }

export type Bought = ListedPurchase & { operation: Operation }

/** The purchases of this browser, the newest first. */
export async function readPurchases(): Promise<Bought[]> {
  const listed = await listPurchases(storage, new Date())
  return listed.filter((each): each is Bought => each.operation !== undefined).toReversed()
}

/** The newest purchase of an operation. */
export async function findBought(operation: Operation): Promise<Bought | undefined> {
  return (await readPurchases()).find((each) => isSame(each.operation, operation))
}
