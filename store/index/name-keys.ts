/** The joined key by which an index finds names in a hash table: it ignores spaces and "and". */

/** The words of a name in one piece. "Fish & Chip Shop" and "Fish Chipshop" have the same key. */
export function joinedKey(words: readonly string[]): string {
  let key = ''
  for (const word of words) if (word !== 'and') key += word
  return key
}

/** FNV-1a over UTF-16 code units. Its last bits are the bucket: a table has a power of two of them. */
export function hashKey(key: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
