/** Keeps the name index of a snapshot in memory for as long as the snapshot object lives. */
import { openNameIndex, type NameIndex } from '../../store/index/name-index.ts'
import type { Snapshot } from '../../store/dataset/snapshot.ts'

const indexes = new WeakMap<Snapshot, NameIndex>()

/** The first call for a snapshot reads the index file synchronously. */
export function cachedNameIndex(snapshot: Snapshot): NameIndex {
  const cached = indexes.get(snapshot)
  if (cached) return cached
  const index = openNameIndex(snapshot.folder)
  indexes.set(snapshot, index)
  return index
}
