/**
 * Characters that are invisible but change how a text is read or compared. A caller that accepts line ends and tabs
 * replaces them by spaces first. A check before Unicode normalisation is enough: it creates none of these characters,
 * except U+1160 from U+3164 and U+FFA0, which are hidden as well. A test checks all of Unicode.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u
const EVERY_HIDDEN = new RegExp(HIDDEN, 'gu')

/** Displayed as nothing: zero-width characters, direction marks, soft hyphens, variation selectors. */
const EVERY_IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu

export function removeIgnorable(text: string): string {
  return text.replace(EVERY_IGNORABLE, '')
}

export function hasHidden(text: string): boolean {
  return HIDDEN.test(text)
}

export function removeHidden(text: string): string {
  return text.replace(EVERY_HIDDEN, '')
}

/** Hidden characters, private use, unassigned code points, and line and paragraph separators. */
const EVERY_INVISIBLE = new RegExp(`${HIDDEN.source}|[\\p{Co}\\p{Cn}\\p{Zl}\\p{Zp}]`, 'gu')

/** Replaces each invisible character by the result of `show`, so that a printed text cannot control a terminal. */
export function replaceInvisible(text: string, show: (character: string) => string): string {
  return text.replace(EVERY_INVISIBLE, show)
}

/** Escapes each invisible character of a line of JSON, which stays JSON. */
export function escapeJson(line: string): string {
  return replaceInvisible(line, (character) =>
    character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** Escapes each invisible character, line ends included, so that a printed text stays on one line. */
export function escapeInvisible(text: string): string {
  return replaceInvisible(text, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}
