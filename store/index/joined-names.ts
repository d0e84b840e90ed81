/**
 * A hash table of names by their joined key: the words without "and" and without spaces. It finds names whose words are
 * written together or apart, or that lack an "and".
 */

/** The words of a name in one piece. "Fish & Chip Shop" and "Fish Chipshop" have the same key. */
export function joinedKey(words: readonly string[]): string {
  let key = ''
  for (const word of words) if (word !== 'and') key += word
  return key
}

/** FNV-1a over UTF-16 code units. */
export function hashKey(key: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

interface JoinedNamesSections {
  /** By bucket, the position of its first name in `joinedNames`; one more entry at the end. */
  joinedStarts: Uint32Array
  /** The names of all buckets, ascending within each. */
  joinedNames: Uint32Array
}

/** `hashes` has the hash of each name's key. The number of buckets is a power of two of at least that many. */
export function buildJoinedNames(hashes: Uint32Array): JoinedNamesSections {
  const buckets = 2 ** Math.ceil(Math.log2(Math.max(1, hashes.length)))
  const joinedStarts = new Uint32Array(buckets + 1)
  for (const hash of hashes) joinedStarts[bucketOf(hash, buckets) + 1]! += 1
  for (let bucket = 0; bucket < buckets; bucket += 1) joinedStarts[bucket + 1]! += joinedStarts[bucket]!
  const joinedNames = new Uint32Array(hashes.length)
  const next = joinedStarts.slice()
  for (const [name, hash] of hashes.entries()) joinedNames[next[bucketOf(hash, buckets)]!++] = name
  return { joinedStarts, joinedNames }
}

/** The names that may have the key: all that do, and a few others. */
export function bucketOfKey({ joinedStarts, joinedNames }: JoinedNamesSections, key: string): Uint32Array {
  const bucket = bucketOf(hashKey(key), joinedStarts.length - 1)
  return joinedNames.subarray(joinedStarts[bucket], joinedStarts[bucket + 1])
}

function bucketOf(hash: number, buckets: number): number {
  return hash & (buckets - 1)
}
