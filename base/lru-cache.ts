/** LRU caches of a bounded number of entries. */

/** Options of an LRU cache. With its option `max` a cache reserves memory for all entries when it is made. */
export const entriesAtMost = (count: number) => ({ maxSize: count, sizeCalculation: () => 1 })
