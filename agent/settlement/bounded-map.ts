/** A map with a limited number of entries. Not an LRUCache, which reserves memory for all entries. */

/** Sets an entry as the newest one. Removes the oldest entries of a full map. */
export function setBounded<Value>(map: Map<string, Value>, max: number, [key, value]: [string, Value]): void {
  map.delete(key)
  for (const oldest of map.keys()) {
    if (map.size < max) break
    map.delete(oldest)
  }
  map.set(key, value)
}
