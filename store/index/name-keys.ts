/**
 * Keys by which an index finds names in hash tables: the joined key, which ignores spaces and "and", and the initials.
 * A bucket of a table also has a few names with other keys, so a lookup compares the keys of its names.
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

/** `buckets` is a power of two. */
export function bucketOfHash(hash: number, buckets: number): number {
  return hash & (buckets - 1)
}

/** Shorter initials belong to too many names. "Electricity Supply Board" has ESB. */
const INITIALS_LETTERS_MIN = 3
/** Longer words are not initials. */
const INITIALS_LETTERS_MAX = 8

/** A bucket holds about ten names of a register of a million. */
export const INITIALS_BUCKETS = 65_536

/** Words that initials may leave out: "Bank of Ireland" has BOI and BI. */
const OMITTED_WORDS: ReadonlySet<string> = new Set(['and', 'of', 'the', 'for', 'in', 'na', 'an'])

/** The initials of a name, with and without its short words, each once. */
export function initialsOf(words: readonly string[]): string[] {
  let [whole, short] = ['', '']
  for (const word of words) {
    whole += word.charAt(0)
    if (!OMITTED_WORDS.has(word)) short += word.charAt(0)
  }
  return (short === whole ? [whole] : [whole, short]).filter(areInitials)
}

export function areInitials({ length }: string): boolean {
  return length >= INITIALS_LETTERS_MIN && length <= INITIALS_LETTERS_MAX
}

export function bucketOfInitials(initials: string): number {
  return hashKey(initials) % INITIALS_BUCKETS
}
