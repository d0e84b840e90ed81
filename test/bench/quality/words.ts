/** Word changes: order, omitted, added, abbreviated, joined and split words, numbers, legal forms, and parts. */
import { below, happens, pick, type Random } from '../../support/random.ts'
import { coreWords, fold, joined, LEGAL_FORMS, partsOf } from './names.ts'
import type { BenchCompany, ReferenceRegister } from './register.ts'

/** Changes the words before the legal form. */
function overWords(change: (random: Random, words: string[]) => string[] | undefined) {
  return (random: Random, name: string): string | undefined => {
    const { core, surface } = partsOf(name)
    const words = change(random, core.split(' '))
    if (words === undefined || words.join(' ') === core) return undefined
    return joined({ core: words.join(' '), surface })
  }
}

export const wordsSwapped = overWords((random, words) => {
  if (words.length < 2) return undefined
  const at = below(random, words.length - 1)
  const [first = '', second = ''] = words.slice(at, at + 2)
  return words.toSpliced(at, 2, second, first)
})

export const wordMissing = overWords((random, words) =>
  words.length < 2 ? undefined : words.toSpliced(below(random, words.length), 1),
)

const ADDED_WORDS = ['(IRELAND)', 'IRELAND', 'GROUP', 'COMPANY', 'SERVICES', 'DUBLIN'] as const

/** Adds a word to the name. */
export function wordAdded(random: Random, name: string): string | undefined {
  const { core, surface } = partsOf(name)
  const word = happens(random, 0.15) ? 'THE' : pick(random, ADDED_WORDS)
  return joined({ core: word === 'THE' ? `THE ${core}` : `${core} ${word}`, surface })
}

export const wordsJoinedOrSplit = overWords((random, words) => {
  if (words.length > 1 && happens(random, 0.6)) {
    const at = below(random, words.length - 1)
    return words.toSpliced(at, 2, words.slice(at, at + 2).join(''))
  }
  // Each part has at least two letters.
  const long = words.flatMap((word, at) => (/^\p{L}{4,}$/u.test(word) ? [at] : []))
  if (long.length === 0) return undefined
  const at = pick(random, long)
  const word = words[at] ?? ''
  const cut = 2 + below(random, word.length - 3)
  return words.toSpliced(at, 1, word.slice(0, cut), word.slice(cut))
})

/** A long form and its short forms per group. */
const ABBREVIATIONS = `
  ACCOUNTING ACCTG, ADMINISTRATION ADMIN, ASSOCIATES ASSOC ASSOCS, BROTHERS BROS, BUILDING BLDG,
  COMMUNICATIONS COMMS, COMPANY CO CO., CONSTRUCTION CONST, CONSULTING CONSULT, CORPORATION CORP,
  DEVELOPMENT DEV DEVT, DEVELOPMENTS DEVTS, ELECTRICAL ELEC, ENGINEERING ENG ENGR, ENTERPRISES ENT, FINANCIAL FIN,
  GROUP GRP, HOLDINGS HLDGS, INTERNATIONAL INT'L INTL INT, INVESTMENTS INVS, MANAGEMENT MGMT MGT,
  MANUFACTURING MFG, PROPERTIES PROPS, PROPERTY PROP, ROAD RD, SAINT ST ST., SERVICES SVCS SERV, SOLUTIONS SOLNS,
  STREET ST ST., TECHNOLOGIES TECH TECHS, TECHNOLOGY TECH, TRANSPORT TRANS
`

/** Both directions: the register has long and short forms. */
const SHORTER_OR_LONGER = new Map<string, string[]>()
for (const group of ABBREVIATIONS.split(',')) {
  const [long = '', ...shorts] = group.trim().split(' ')
  SHORTER_OR_LONGER.set(long, shorts)
  for (const short of shorts) SHORTER_OR_LONGER.set(short, [...(SHORTER_OR_LONGER.get(short) ?? []), long])
}

export const abbreviated = overWords((random, words) => replaceKnown(random, words, SHORTER_OR_LONGER))

const NUMBERS: readonly (readonly string[])[] = [
  ...'1 ONE I,2 TWO II,3 THREE III,4 FOUR IV,5 FIVE V,6 SIX VI,7 SEVEN VII,8 EIGHT VIII,9 NINE IX,10 TEN X'.split(','),
  ...'11 ELEVEN XI,12 TWELVE XII,20 TWENTY XX,24 TWENTY_FOUR XXIV,50 FIFTY,100 ONE_HUNDRED'.split(','),
].map((forms) => forms.split(' ').map((form) => form.replace('_', ' ')))

const OTHER_NUMERALS = new Map(
  NUMBERS.flatMap((forms) =>
    // A single letter is usually an initial.
    forms
      .filter((form) => !/^[IVX]$/.test(form))
      .map((form) => [form, forms.filter((other) => other !== form)] as const),
  ),
)

export const numbersRewritten = overWords((random, words) => replaceKnown(random, words, OTHER_NUMERALS))

/** Changes a number; in a series that is another company. */
export const numberChanged = overWords((random, words) => {
  const places = words.flatMap((word, at) => (/^\d{1,6}$/.test(word) ? [at] : []))
  if (places.length === 0) return undefined
  const at = pick(random, places)
  return words.toSpliced(at, 1, String(Number(words[at]) + 1 + below(random, 9)))
})

/** Replaces one word that the table contains. */
function replaceKnown(
  random: Random,
  words: string[],
  table: ReadonlyMap<string, readonly string[]>,
): string[] | undefined {
  const known = words.flatMap((word, at) => {
    const others = table.get(word.toUpperCase())
    return others ? [{ at, others }] : []
  })
  if (known.length === 0) return undefined
  const { at, others } = pick(random, known)
  return words.toSpliced(at, 1, pick(random, others))
}

/** `The` at the beginning, added or left out. */
export function articleChanged(_random: Random, name: string): string | undefined {
  return /^THE\s/iu.test(name) ? name.replace(/^THE\s+/iu, '') : `THE ${name}`
}

export function formSwapped(random: Random, name: string): string | undefined {
  const { core, surface, form } = partsOf(name)
  if (form === undefined) return undefined
  const others = LEGAL_FORMS[form].filter((written) => fold(written) !== fold(surface))
  return joined({ core, surface: pick(random, others) })
}

export function formDropped(_random: Random, name: string): string | undefined {
  const { core, form } = partsOf(name)
  return form === undefined ? undefined : core
}

/** A legal form of another class, so the name identifies no company. */
export function formWrong(random: Random, name: string): string | undefined {
  const { core, form } = partsOf(name)
  if (form === undefined) return undefined
  const others = Object.entries(LEGAL_FORMS).filter(([other]) => other !== form)
  const [, written] = pick(random, others)
  return joined({ core, surface: pick(random, written) })
}

const LETTERS = /^\p{L}+$/u
const BRAND_LETTERS_MIN = 4
const PREFIX_LETTERS_MIN = 3
const UNSPACED_WORDS_MIN = 3

/** The rarest word of the name, as people type it into a search. Several companies can be a right answer. */
export function brandOnly(_random: Random, { name }: BenchCompany, register: ReferenceRegister): string | undefined {
  const words = coreWords(name).filter((word) => LETTERS.test(word) && word.length >= BRAND_LETTERS_MIN)
  const uses = (word: string) => register.find('word', word).length
  return words.toSorted((one, other) => uses(one) - uses(other))[0]
}

/** The name with only the first letters of its last word. */
export function lastWordCut(random: Random, { name }: BenchCompany): string | undefined {
  const words = coreWords(name)
  const last = words.at(-1) ?? ''
  if (words.length < 2 || !LETTERS.test(last) || last.length <= PREFIX_LETTERS_MIN) return undefined
  const length = PREFIX_LETTERS_MIN + below(random, last.length - PREFIX_LETTERS_MIN)
  return [...words.slice(0, -1), last.slice(0, length)].join(' ')
}

export function withoutSpaces(_random: Random, { name }: BenchCompany): string | undefined {
  const words = coreWords(name)
  return words.length < UNSPACED_WORDS_MIN ? undefined : words.join('')
}
