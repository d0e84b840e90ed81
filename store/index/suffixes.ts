/**
 * Legal forms at the end of company names, English and Irish (Companies Act 2014, otherwise ISO 20275). Forms of one
 * class are equal: LIMITED, LTD, TEORANTA. Forms of different classes are different: LIMITED, DAC.
 */

import { editDistance, toCodeUnits } from './spelling.ts'

/** "Example CN" has a legal form; "AB CN" may be initials. */
const LETTERS_BESIDE_SHORT_FORM = 3

/**
 * The normalised notations of each class of legal forms. A notation in parentheses can also be a word or initials, so
 * it is a legal form only after a word of at least three letters.
 */
const CLASSES = `
  ltd: limited, ltd, lmtd, private company limited by shares, teoranta, cuideachta phriobhaideach theoranta, (teo)
  dac: designated activity company, designated activity company limited by shares, designated activity company limited by guarantee, dac, cuideachta ghniomhaiochta ainmnithe, (cga)
  clg: company limited by guarantee, clg, cuideachta faoi theorainn rathaiochta, (ctr)
  plc: public limited company, plc, cuideachta phoibli theoranta, cpt
  uc: unlimited company, private unlimited company, public unlimited company, uc, ulc, cuideachta neamhtheoranta, (cn)
  icav: irish collective asset management vehicle, icav
  se: societas europaea, (se)
  eeig: european economic interest grouping, eeig, grupail eorpach um leas eacnamaioch, gele
  ilp: investment limited partnership, ilp, comhphairtiocht theoranta infheistiochta, (cti)
  lp: limited partnership, (lp)
  llp: limited liability partnership, llp
`

export interface ParsedName {
  readonly core: readonly string[]
  /** The class of the legal form; empty for a name without one. */
  readonly suffix: string
}

const FORMS = new Map<string, { suffix: string; isShort: boolean }>()
for (const line of CLASSES.trim().split('\n')) {
  const [suffix = '', forms = ''] = line.trim().split(': ')
  for (const form of forms.split(', ')) FORMS.set(form.replace(/[()]/g, ''), { suffix, isShort: form.startsWith('(') })
}

/** The index file stores positions in this list; position 0 is "none". New classes go to the end. */
export const SUFFIXES: readonly string[] = ['', ...new Set([...FORMS.values()].map(({ suffix }) => suffix))]

/** Forms that are recognised without a space before them, because ordinary words do not end in them. */
const ATTACHED_FORMS = ['limited', 'ltd', 'teoranta']
const LETTERS_BEFORE_ATTACHED_FORM = 2
export const FORM_BEGINNINGS: ReadonlySet<string> = new Set([...FORMS.keys()].map((form) => form.split(' ')[0] ?? ''))
export const FORM_ENDS: ReadonlySet<string> = new Set([...FORMS.keys()].map((form) => form.split(' ').at(-1) ?? ''))
const FORM_WORDS_MAX = Math.max(...[...FORMS.keys()].map((form) => form.split(' ').length))

export function formsOf(suffix: string): string[] {
  return [...FORMS].flatMap(([form, each]) => (each.suffix === suffix ? [form] : []))
}

/** The words behind a form of the class that they begin with. */
export function withoutLeadingForm(words: readonly string[], suffix: string): readonly string[] {
  if (!FORM_BEGINNINGS.has(words[0] ?? '')) return words
  const form = formsOf(suffix).find((each) => `${words.join(' ')} `.startsWith(`${each} `))
  return form === undefined ? words : words.slice(form.split(' ').length)
}

/** Splits off the longest legal form at the end of a name, and never the whole name. */
export function splitSuffix(words: readonly string[]): ParsedName {
  if (FORM_ENDS.has(words.at(-1) ?? '')) {
    for (let length = Math.min(FORM_WORDS_MAX, words.length - 1); length > 0; length -= 1) {
      const form = FORMS.get(words.slice(-length).join(' '))
      const core = words.slice(0, -length)
      const isForm = form && (!form.isShort || core.some((word) => word.length >= LETTERS_BESIDE_SHORT_FORM))
      if (isForm) return { core, suffix: form.suffix }
    }
  }
  return { core: words, suffix: '' }
}

/** Whether the legal form at the end of a name is also an ordinary word or initials. */
export function isAmbiguousForm(words: readonly string[], { core }: ParsedName): boolean {
  return FORMS.get(words.slice(core.length).join(' '))?.isShort ?? false
}

/** Splits off a legal form that is written without a space before it ("FoodsLimited"). */
export function splitAttachedSuffix(name: ParsedName): ParsedName {
  const last = name.core.at(-1) ?? ''
  // "Unlimited" is not "un" and "limited".
  if (name.suffix !== '' || FORM_BEGINNINGS.has(last)) return name
  const form = ATTACHED_FORMS.find(
    (each) => last.endsWith(each) && last.length >= each.length + LETTERS_BEFORE_ATTACHED_FORM,
  )
  if (form === undefined) return name
  return { core: [...name.core.slice(0, -1), last.slice(0, -form.length)], suffix: FORMS.get(form)!.suffix }
}

/** Splits off a legal form that is misspelt ("Limted") or attached, for similarity only. */
export function splitMisspeltSuffix(written: ParsedName): ParsedName {
  const name = splitAttachedSuffix(written)
  if (name.suffix !== '') return name
  const words = name.core
  for (let length = Math.min(FORM_WORDS_MAX, words.length - 1); length > 0; length -= 1) {
    const end = words.slice(-length)
    for (const [form, { suffix, isShort }] of FORMS) {
      const wanted = form.split(' ')
      if (!isShort && wanted.length === length && wanted.every((word, at) => isMisspelt(end[at]!, word)))
        return { core: words.slice(0, -length), suffix }
    }
  }
  return { core: words, suffix: '' }
}

/** Short words have too many similar words, so fewer edits are allowed. */
function isMisspelt(written: string, word: string): boolean {
  const limit = word.length < 5 ? 0 : word.length < 8 ? 1 : 2
  return editDistance(toCodeUnits(written), toCodeUnits(word), limit) <= limit
}
