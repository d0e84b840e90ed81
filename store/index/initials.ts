/**
 * Initials of names: "Electricity Supply Board" has ESB. Names are grouped in buckets by a hash of their initials, and a
 * lookup compares the initials of the names in one bucket.
 */
import { hashKey } from './joined-names.ts'

/** Shorter initials belong to too many names. */
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

/** Whether a text has the length of initials. */
export function areInitials({ length }: string): boolean {
  return length >= INITIALS_LETTERS_MIN && length <= INITIALS_LETTERS_MAX
}

export function bucketOfInitials(initials: string): number {
  return hashKey(initials) % INITIALS_BUCKETS
}
