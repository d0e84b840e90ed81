/** The bound of an LRU cache. */

/** At most so many entries. With the option `max` lru-cache reserves memory for all of them when it is made. */
export const entriesAtMost = (count: number) => ({ maxSize: count, sizeCalculation: () => 1 })
