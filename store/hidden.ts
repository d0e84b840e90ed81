/**
 * Characters that nobody sees, and that change what is read, compared or done all the same. The one rule for them: the
 * import removes them, inputs that hold one are refused, and what is printed or passed on shows that there was one.
 *
 * - `Cc`, C0 and C1 controls; a caller that reads line ends and tabs as white space does so before;
 * - `Cf`, format characters: bidi, zero width, soft hyphen, interlinear annotation, tags;
 * - default-ignorable ones of other categories: variation selectors, fillers of Hangul, the grapheme joiner;
 * - noncharacters, and lone surrogates, which are no text at all.
 *
 * No character becomes one of these by NFC, NFD, NFKC or NFKD, but for two that are such themselves (U+3164 and U+FFA0
 * become U+1160). So each side looks at the text as it came, before it normalises; the test walks all of Unicode.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u
const EVERY_HIDDEN = new RegExp(HIDDEN, 'gu')

export function hasHidden(text: string): boolean {
  return HIDDEN.test(text)
}

export function withoutHidden(text: string): string {
  return text.replace(EVERY_HIDDEN, '')
}

/** The text with something that can be seen in the place of each. */
export function showHidden(text: string, show: (character: string) => string): string {
  return text.replace(EVERY_HIDDEN, show)
}
