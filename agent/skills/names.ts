/** The name index of a snapshot, read when it is first needed and kept as long as the snapshot is. */
import type { Snapshot } from '../../store/snapshot.ts'
import { openNameIndex, type NameIndex } from '../../store/index/name-index.ts'

const opened = new WeakMap<Snapshot, NameIndex>()

/** The first to ask for it waits until it is read. */
export function namesOf(snapshot: Snapshot): NameIndex {
  const known = opened.get(snapshot)
  if (known) return known
  const names = openNameIndex(snapshot.folder)
  opened.set(snapshot, names)
  return names
}
