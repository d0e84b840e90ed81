/** The purchases and lists of this browser, in IndexedDB. An entry is on disk when its transaction has completed. */
import { purchaseName } from '../library/open-buyer.ts'
import { listPurchases, type ListedPurchase } from '../library/purchase-state.ts'
import type { BuyerStorage } from '../library/storage.ts'
import type { Operation } from '../../agent/operation/operation.ts'
import { isSame } from './question.ts'

const ENTRIES = 'entries'
/** What is no purchase: lists, and their files. */
const LISTS = 'lists'

const database = new Promise<IDBDatabase>((resolve, reject) => {
  const request = indexedDB.open('irish-company-purchases', 2)
  request.addEventListener('upgradeneeded', () => {
    for (const name of [ENTRIES, LISTS])
      if (!request.result.objectStoreNames.contains(name)) request.result.createObjectStore(name)
  })
  request.addEventListener('success', () => resolve(request.result))
  request.addEventListener('error', () => reject(request.error as Error))
})

async function run<Result>(
  mode: IDBTransactionMode,
  work: (entries: IDBObjectStore) => IDBRequest<Result>,
  store = ENTRIES,
) {
  const transaction = (await database).transaction(store, mode, { durability: 'strict' })
  const request = work(transaction.objectStore(store))
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

/** Lists and their files, as values. */
export const listStorage = {
  read: <Value>(name: string) =>
    run('readonly', (entries) => entries.get(name) as IDBRequest<Value | undefined>, LISTS),
  names: async () => (await run('readonly', (entries) => entries.getAllKeys(), LISTS)).map(String),
  replace: async (name: string, value: object) =>
    void (await run('readwrite', (entries) => entries.put(value, name), LISTS)),
  /** Changes a value in one transaction, so that two tabs lose nothing of each other. Undefined changes nothing. */
  change: async <Value>(name: string, change: (old: Value | undefined) => Value | undefined) => {
    const work = (entries: IDBObjectStore) => {
      const reading = entries.get(name) as IDBRequest<Value | undefined>
      reading.addEventListener('success', () => {
        const changed = change(reading.result)
        if (changed !== undefined) entries.put(changed, name)
      })
      return reading
    }
    await run('readwrite', work, LISTS)
  },
  remove: (name: string) => run<undefined>('readwrite', (entries) => entries.delete(name), LISTS),
}

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

/** Whether the payment may still be settled, or was without an answer. */
export const isOpen = ({ outcome }: Bought): boolean => outcome.kind !== 'sold' && outcome.kind !== 'not_sold'

/** The purchases of a request. */
export const purchasesOf = async (name: string): Promise<Bought[]> =>
  (await readPurchases()).filter(({ purchase }) => purchaseName(purchase.request) === name)

/**
 * Removes all purchases of a request, because the newest of those that remain would count. Keeps all if one is open,
 * because its payment may still be settled.
 */
export async function removePurchases(name: string): Promise<void> {
  if ((await purchasesOf(name)).some(isOpen)) return
  for (const entry of await storage.list(name)) await storage.remove(entry)
}
