/**
 * The bench's own reading of the naming rules: when two names are the same, and which companies a query names. It shares
 * no line with the product, so that a slip in the product's normaliser shows as a wrong answer and can't hide itself.
 */

export type LegalForm = 'ltd' | 'dac' | 'clg' | 'plc' | 'uc'

/** How each form is written at the end of a folded name. Words that also end ordinary names (CN, SE, CTR) are left out. */
const SURFACES: Record<LegalForm, readonly string[]> = {
  ltd: ['limited', 'ltd', 'teoranta', 'teo'],
  dac: ['designated activity company', 'dac', 'cuideachta ghniomhaiochta ainmnithe'],
  clg: ['company limited by guarantee', 'clg', 'cuideachta faoi theorainn rathaiochta'],
  plc: ['public limited company', 'plc', 'cuideachta phoibli theoranta', 'cpt'],
  uc: ['unlimited company', 'uc', 'ulc', 'cuideachta neamhtheoranta'],
}

const FORM_OF_SURFACE = new Map(
  Object.entries(SURFACES).flatMap(([form, surfaces]) => surfaces.map((surface) => [surface, form as LegalForm])),
)

/** The longest surfaces have four words. */
const SURFACE_WORDS_MAX = 4

const APOSTROPHES = /['\u2018\u2019\u02BC\u0060\u00B4]/gu
/** The dot of an initial before another: A.B.C. is ABC. */
const INITIALS_DOT = /(?<=(?<![\p{L}\p{N}])\p{L})\.(?=\p{L}(?![\p{L}\p{N}]))/gu

/** Single letters in a row: A B C is ABC. */
const INITIALS_SPACE = /(?<=(?<![\p{L}\p{N}])\p{L}) (?=\p{L}(?![\p{L}\p{N}]))/gu
/** The beginnings of surnames: O Brien is OBrien. */
const PREFIX_SPACE = /(?<=(?<![\p{L}\p{N}])(?:o|mc)) (?=\p{L}{3})/gu

/**
 * Names with the same fold are strictly the same: no case, marks, apostrophes, punctuation or double spaces; `&`, `+` and
 * `agus` are "and", initials are one word, and so are O and Mc with their surname.
 */
export function fold(name: string): string {
  return name
    .replace(APOSTROPHES, '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(INITIALS_DOT, '')
    .replace(/[&+]/g, ' and ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/\bagus\b/g, 'and')
    .replace(INITIALS_SPACE, '')
    .replace(PREFIX_SPACE, '')
}

export interface NameParts {
  /** What stands before the legal form, as it is written. */
  core: string
  /** The legal form as it is written; empty when the name has none. */
  surface: string
  form: LegalForm | undefined
}

/** Takes the legal form off the end of a name, unless nothing would be left. */
export function partsOf(name: string): NameParts {
  const words = name.trim().split(/\s+/)
  for (let count = Math.min(SURFACE_WORDS_MAX, words.length - 1); count > 0; count -= 1) {
    const surface = words.slice(-count).join(' ')
    const form = FORM_OF_SURFACE.get(fold(surface))
    const core = words
      .slice(0, -count)
      .join(' ')
      .replace(/[\s,]+$/, '')
    if (form && core !== '') return { core, surface, form }
  }
  return { core: words.join(' '), surface: '', form: undefined }
}

/** A name of these parts. */
export function joined({ core, surface }: Pick<NameParts, 'core' | 'surface'>): string {
  return surface === '' ? core : `${core} ${surface}`
}

/** Letters and digits before the legal form: how much there is to know a name by. */
export function coreLength(name: string): number {
  return fold(partsOf(name).core).replaceAll(' ', '').length
}
