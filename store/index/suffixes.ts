/**
 * The legal forms that a company's name ends in, English and Irish (Companies Act 2014; ISO 20275 for the rest). Forms
 * of one class mean the same: LIMITED is LTD is TEORANTA. Forms of two classes never do: LIMITED is not DAC.
 */

import { edits, lettersOf } from './spelling.ts'

interface SuffixClass {
  readonly name: string
  /** As a normalised name holds them. */
  readonly forms: readonly string[]
  /** Forms that ordinary names end in too: they count only where a word is left that can be a name. */
  readonly shortForms?: readonly string[]
}

/** "Example CN" has a legal form, "AB CN" may be initials. */
const LETTERS_BESIDE_SHORT_FORM = 3

const CLASSES: readonly SuffixClass[] = [
  {
    name: 'ltd',
    forms: [
      'limited',
      'ltd',
      'lmtd',
      'private company limited by shares',
      'teoranta',
      'cuideachta phriobhaideach theoranta',
    ],
    shortForms: ['teo'],
  },
  {
    name: 'dac',
    forms: [
      'designated activity company',
      'designated activity company limited by shares',
      'designated activity company limited by guarantee',
      'dac',
      'cuideachta ghniomhaiochta ainmnithe',
    ],
    shortForms: ['cga'],
  },
  {
    name: 'clg',
    forms: ['company limited by guarantee', 'clg', 'cuideachta faoi theorainn rathaiochta'],
    shortForms: ['ctr'],
  },
  { name: 'plc', forms: ['public limited company', 'plc', 'cuideachta phoibli theoranta', 'cpt'] },
  {
    name: 'uc',
    forms: [
      'unlimited company',
      'private unlimited company',
      'public unlimited company',
      'uc',
      'ulc',
      'cuideachta neamhtheoranta',
    ],
    shortForms: ['cn'],
  },
  { name: 'icav', forms: ['irish collective asset management vehicle', 'icav'] },
  { name: 'se', forms: ['societas europaea'], shortForms: ['se'] },
  {
    name: 'eeig',
    forms: ['european economic interest grouping', 'eeig', 'grupail eorpach um leas eacnamaioch', 'gele'],
  },
  {
    name: 'ilp',
    forms: ['investment limited partnership', 'ilp', 'comhphairtiocht theoranta infheistiochta'],
    shortForms: ['cti'],
  },
  { name: 'lp', forms: ['limited partnership'], shortForms: ['lp'] },
  { name: 'llp', forms: ['limited liability partnership', 'llp'] },
]

/** A legal form's class; empty for a name that has none. */
export type Suffix = string

/** A name taken apart: its words without the legal form, and the form's class. */
export interface ParsedName {
  readonly core: readonly string[]
  readonly suffix: Suffix
}

/** Every class by its number; number 0 is "none". */
export const SUFFIXES: readonly Suffix[] = ['', ...CLASSES.map(({ name }) => name)]

const FORMS = new Map<string, { suffix: Suffix; isShort: boolean }>()
for (const { name, forms, shortForms = [] } of CLASSES) {
  for (const form of forms) FORMS.set(form, { suffix: name, isShort: false })
  for (const form of shortForms) FORMS.set(form, { suffix: name, isShort: true })
}
/** Forms that no ordinary word ends in. */
const ATTACHED_FORMS = [...FORMS.keys()].filter((form) => !form.includes(' ') && form.length >= 7)
const LETTERS_BEFORE_ATTACHED_FORM = 2
const FIRST_WORDS: ReadonlySet<string> = new Set([...FORMS.keys()].map((form) => form.split(' ')[0] ?? ''))
const LAST_WORDS: ReadonlySet<string> = new Set([...FORMS.keys()].map((form) => form.split(' ').at(-1) ?? ''))
const FORM_WORDS_MAX = Math.max(...[...FORMS.keys()].map((form) => form.split(' ').length))

/** A form's words may have this many edits by their length; shorter words none, since too much else is spelt alike. */
const MISSPELT_EDITS: readonly [lettersMin: number, edits: number][] = [
  [8, 2],
  [5, 1],
  [0, 0],
]

/** Whether a legal form may begin with this word. */
export function beginsLegalForm(word: string): boolean {
  return FIRST_WORDS.has(word)
}

/**
 * Splits the words of a name into what it is called and its legal form: the longest form at the end, one at most, and
 * never the whole name.
 */
export function splitSuffix(words: readonly string[]): ParsedName {
  if (LAST_WORDS.has(words.at(-1) ?? '')) {
    for (let length = Math.min(FORM_WORDS_MAX, words.length - 1); length > 0; length -= 1) {
      const form = FORMS.get(words.slice(-length).join(' '))
      const core = words.slice(0, -length)
      const isForm = form && (!form.isShort || core.some((word) => word.length >= LETTERS_BESIDE_SHORT_FORM))
      if (isForm) return { core, suffix: form.suffix }
    }
  }
  return { core: words, suffix: '' }
}

/**
 * Takes apart a name whose legal form was not recognised, because it is misspelt ("Limted", "Desginated Activity
 * Company") or written together with the word before it. Names are similar without it, never equal.
 */
export function splitMisspeltSuffix(name: ParsedName): ParsedName {
  if (name.suffix !== '') return name
  const words = name.core
  const last = words.at(-1) ?? ''
  for (const form of ATTACHED_FORMS) {
    const isAttached = last.endsWith(form) && last.length >= form.length + LETTERS_BEFORE_ATTACHED_FORM
    // "Unlimited" is a word.
    if (isAttached && !beginsLegalForm(last))
      return { core: [...words.slice(0, -1), last.slice(0, -form.length)], suffix: FORMS.get(form)!.suffix }
  }
  for (let length = Math.min(FORM_WORDS_MAX, words.length - 1); length > 0; length -= 1) {
    const end = words.slice(-length)
    for (const [form, { suffix, isShort }] of FORMS) {
      const wanted = form.split(' ')
      if (!isShort && wanted.length === length && wanted.every((word, place) => isMisspelt(end[place]!, word)))
        return { core: words.slice(0, -length), suffix }
    }
  }
  return { core: words, suffix: '' }
}

function isMisspelt(written: string, word: string): boolean {
  const limit = MISSPELT_EDITS.find(([lettersMin]) => word.length >= lettersMin)?.[1] ?? 0
  return edits(lettersOf(written), lettersOf(word), limit) <= limit
}
