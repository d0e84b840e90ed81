/** Stores, changes and deletes lists. A list is found again by its cells, so the same file is the same list. */
import { sha256Hex } from '../../../base/canonical.ts'
import { toText } from '../../table/cell.ts'
import type { Table } from '../../table/read-table.ts'
import { listStorage, removePurchases } from '../storage.ts'
import type { Step } from './state.ts'
import { fileName, readLists, type StoredList } from './stored-list.ts'

/** The id of the list with these cells. */
export const listId = ({ rows }: Table): string =>
  sha256Hex(JSON.stringify(rows.map((row) => row.map(toText)))).slice(0, 16)

export const readFileOf = (id: string) => listStorage.read<Uint8Array<ArrayBuffer>>(fileName(id))

/** Stores a list before its first payment, or its other columns. Its name, its day and its choices are kept. */
export async function storeList(
  list: Omit<StoredList, 'began' | 'trails' | 'summary' | 'batches'>,
  bytes: Uint8Array<ArrayBuffer>,
  batches: readonly string[],
): Promise<void> {
  const began = new Date().toISOString()
  await listStorage.replace(fileName(list.id), bytes)
  await listStorage.change<StoredList>(list.id, (old) => ({
    began,
    trails: {},
    summary: '',
    ...old,
    ...list,
    batches: [...new Set([...(old?.batches ?? []), ...batches])],
    name: old?.name ?? list.name,
  }))
}

/** Another tab can have deleted the list. */
const changeList = (id: string, change: (old: StoredList) => StoredList) =>
  listStorage.change<StoredList>(id, (old) => old && change(old))

export const updateList = (id: string, { summary, batches = [] }: Partial<Pick<StoredList, 'summary' | 'batches'>>) =>
  changeList(id, (old) => ({
    ...old,
    summary: summary ?? old.summary,
    batches: [...new Set([...old.batches, ...batches])],
  }))

/** Adds a step to the trail of a row. */
export const addStep = (id: string, key: string, step: Step) =>
  changeList(id, (old) => ({ ...old, trails: { ...old.trails, [key]: [...(old.trails[key] ?? []), step] } }))

/** Removes a list with the batches that only it has. Open ones are kept. */
export async function deleteList(id: string): Promise<void> {
  const lists = await readLists()
  const others = new Set(lists.flatMap((list) => (list.id === id ? [] : list.batches)))
  const own = lists.find((list) => list.id === id)?.batches ?? []
  for (const name of own) if (!others.has(name)) await removePurchases(name)
  await listStorage.remove(id)
  await listStorage.remove(fileName(id))
}
