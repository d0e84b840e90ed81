/** Bounds of LRU caches. */

/** At most so many entries. The option `max` of lru-cache would reserve the memory of all when the cache is made. */
export const entriesAtMost = (count: number) => ({ maxSize: count, sizeCalculation: () => 1 })
