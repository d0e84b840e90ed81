/** The lists of this browser, for the table of the purchases too. */
import type { ReadOptions } from '../../table/read-table.ts'
import type { ColumnNames } from '../../lists/columns.ts'
import type { RowCells } from '../../lists/rows.ts'
import { listStorage } from '../storage.ts'
import type { Trails } from './state.ts'

export interface StoredList extends ReadOptions {
  id: string
  /** Of the first purchase, ISO 8601. */
  began: string
  /** From 1, or 0 without a header. */
  headerRow: number
  columns: ColumnNames<keyof RowCells>
  trails: Trails
  /** The state of the rows in one line, for the table of the purchases. */
  summary: string
  /** The names of its batches, also of those that are not bought yet. */
  batches: readonly string[]
}

const FILE_SUFFIX = '.file'

/** The entry of the file of a list. */
export const fileName = (id: string): string => id + FILE_SUFFIX

export const listUrl = (id: string): string => `/?operation=list&list=${id}`

export const readStored = (id: string) => listStorage.read<StoredList>(id)

/** The newest first. */
export async function readLists(): Promise<StoredList[]> {
  const names = (await listStorage.names()).filter((name) => !name.endsWith(FILE_SUFFIX))
  const lists = await Promise.all(names.map(readStored))
  return lists.filter((each) => each !== undefined).toSorted((one, other) => other.began.localeCompare(one.began))
}
