/** Other notations of a name: "and", accents, initials, punctuation. */
import { happens, pick, type Random } from '../../support/random.ts'
import { joined, partsOf } from './names.ts'

/** Returns the text unchanged when the rewrite does not apply. */
type Rewrite = (text: string, random: Random) => string

/** Applies one of the rewrites that change the name before the legal form; undefined when none does. */
function oneOf(rewrites: readonly Rewrite[]) {
  return (random: Random, name: string): string | undefined => {
    const { core, surface } = partsOf(name)
    const changed = rewrites
      .map((rewrite) => rewrite(core, random))
      .filter((text) => text !== core && text.trim() !== '')
    return changed.length === 0 ? undefined : joined({ core: pick(random, changed), surface })
  }
}

const JOINING = /(?<=\S)\s*(?:[&+]|\b(?:AND|AGUS)\b)\s*(?=\S)/iu

export const andRewritten = oneOf(['&', '+', 'AND', 'AGUS'].map((sign) => (text) => text.replace(JOINING, ` ${sign} `)))

const withoutMarks: Rewrite = (text) => text.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC')
const decomposed: Rewrite = (text) => text.normalize('NFD')
/** UTF-8 decoded as Latin-1. */
const misread: Rewrite = (text) =>
  text.replace(/[\u00C0-\u00FF]/gu, (letter) =>
    Buffer.from(letter.toLowerCase(), 'utf8')
      .toString('latin1')
      .replace(/[\u0080-\u009F\u00AD]/gu, ''),
  )
const fadaAdded: Rewrite = (text, random) => {
  const vowels = [...text.matchAll(/[AEIOU]/gu)]
  if (vowels.length === 0) return text
  const { 0: vowel, index } = pick(random, vowels)
  return text.slice(0, index) + `${vowel}\u0301`.normalize('NFC') + text.slice(index + 1)
}
/** The old notation of a lenited consonant: a dot above it instead of an H after it. */
const dotted: Rewrite = (text) =>
  text.replace(/[BCDFGMPST]H/u, ([consonant = '']) => `${consonant}\u0307`.normalize('NFC'))

/** Every name could get an accent, which would make too many such queries. */
const FADA_ADDED_RATE = 0.2
const marksRewritten = oneOf([withoutMarks, misread, decomposed, dotted])
const markAdded = oneOf([fadaAdded, dotted])

export function fadasChanged(random: Random, name: string): string | undefined {
  if (/[\u00C0-\u00FF]/u.test(partsOf(name).core)) return marksRewritten(random, name)
  return happens(random, FADA_ADDED_RATE) ? markAdded(random, name) : undefined
}

/** Two to four single letters with or without dots, or a word of two or three consonants other than Mc. */
const INITIALS =
  /(?<![\p{L}\p{N}'.])(?:(?:\p{Lu}[. ]+){1,3}\p{Lu}(?:\.|(?![\p{L}\p{N}']))|(?!MC )[BCDFGHJ-NP-TV-Z]{2,3}(?![\p{L}\p{N}'.]))/u
const initialsAs = (between: string, after: string): Rewrite => {
  return (text) =>
    text.replace(INITIALS, (initials) => initials.replaceAll(/[. ]/g, '').split('').join(between) + after)
}

export const initialsRewritten = oneOf([
  initialsAs('.', '.'),
  initialsAs(' ', ''),
  initialsAs('', ''),
  initialsAs('. ', '.'),
])

const PUNCTUATION_REWRITTEN: readonly Rewrite[] = [
  (text) => text.replace(/['\u2019]/gu, ''),
  (text) => text.replace(/['\u2019]/gu, ' '),
  (text) => text.replace(/'/gu, '\u2019'),
  (text) => text.replace(/-/gu, ' '),
  (text) => text.replace(/(?<=\p{L})-(?=\p{L})/gu, ''),
  (text) => text.replace(/[()]/g, ''),
  (text) => text.replace(/,/g, ''),
  (text) => text.replace(/\./g, ''),
]
const PUNCTUATION_ADDED: readonly Rewrite[] = [
  (text) => text.replace(/\bO (?=\p{L}{3})/u, "O'"),
  (text) => text.replace(/(?<=\p{L}{2}) (?=\p{L}{2})/u, '-'),
  (text) => text.replace(/ (?=\S+$)/u, ', '),
  (text) => text.replace(/ (?=\S+$)/u, '  '),
  (text) => `${text}.`,
]

/** As for accents. */
const PUNCTUATION_ADDED_RATE = 0.2
const punctuationRewritten = oneOf(PUNCTUATION_REWRITTEN)
const punctuationAdded = oneOf(PUNCTUATION_ADDED)

export function punctuationChanged(random: Random, name: string): string | undefined {
  if (/['\u2019(),.-]/u.test(partsOf(name).core)) return punctuationRewritten(random, name)
  return happens(random, PUNCTUATION_ADDED_RATE) ? punctuationAdded(random, name) : undefined
}
