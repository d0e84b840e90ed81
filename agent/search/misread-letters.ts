/**
 * Repairs letters that a wrong encoding changed. Only queries are repaired: the register has no such names, and a repair that
 * guesses must not make names equal.
 */

/** Vowels with a fada in UTF-8 that was read as Windows-1252 or Latin-1 twice, after NFKC and without control characters. */
const MISREAD_TWICE: readonly [RegExp, string][] = [
  [/Ãƒ?Â¡/gu, 'á'],
  [/Ãƒ?Â©|Ãƒâ€°/gu, 'é'],
  [/Ãƒ?Â³|Ãƒ?Â3|Ãƒâ€œ|ÃƒÂ“/gu, 'ó'],
  [/Ãƒ?Âº|Ãƒ?Âo|ÃƒÅ¡/gu, 'ú'],
]

/** Restores the vowels that are still recognisable. */
export function restoreVowels(text: string): string {
  if (!text.includes('Ã')) return text
  let restored = text
  for (const [misread, vowel] of MISREAD_TWICE) restored = restored.replace(misread, vowel)
  return restored
}

/**
 * Stands for a letter that is lost. A letter that no name contains, so that the spelling search finds words with any letter
 * in its place.
 */
const LOST_LETTER = 'ʔ'
/** A question mark or a replacement character beside a letter, or what is left of a vowel that was misread. */
const LOST = /(?<=[\p{L}\p{N}])[?\uFFFD]|[?\uFFFD](?=\p{L})|Ã(?:ƒÂ?|Â|(?![¡©‰³3“šºo]))[?\uFFFD]?/gu

export function markLostLetters(text: string): string {
  return text.replace(LOST, LOST_LETTER)
}
