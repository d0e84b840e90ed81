/** The grammar of lines that people read. Runs in browsers too. */

/** `row` or `rows`, by their count. */
export const nounOf = (count: number, noun: string, nouns = `${noun}s`): string => (count === 1 ? noun : nouns)

/** `1 row`, `1200 rows`. */
export const counted = (count: number, noun: string, nouns?: string): string => `${count} ${nounOf(count, noun, nouns)}`

/** With one full stop, also after a heading such as `CRO No.`. */
export const toSentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`)

/** With a capital letter at its beginning. */
export const toHead = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
