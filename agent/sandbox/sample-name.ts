/** The name of a made-up company: invented words, a legal form, and the register's habits and slips at their rates. */
import { below, happens, pick, pickWeighted, randomFor, type Random, type Weighted } from './sample-random.ts'
import { COUNTIES, ENDINGS, IRISH_TRADES, sharedStem, shortStem, stem, TRADES } from './sample-words.ts'

const FORM_STREAM = 1
const NAME_STREAM = 2
const SERIES_STREAM = 8

/** A legal form as the register's type column has it. */
export type Form = 'ltd' | 'clg' | 'dac' | 'uc' | 'plc' | 'external' | 'other'

/** Shares of the legal forms among all names of the register; it counts the last two, 2.1 %, as one. */
const FORMS: Weighted<Form> = [
  ['ltd', 0.925],
  ['clg', 0.0262],
  ['dac', 0.0134],
  ['uc', 0.0093],
  ['plc', 0.005],
  ['external', 0.012],
  ['other', 0.0091],
]

/** How a form is written. The full English words nearly always; TEORANTA ends 0.42 % of the limited companies. */
const SUFFIXES: Record<Form, Weighted<string>> = {
  ltd: [
    ['LIMITED', 0.9925],
    ['TEORANTA', 0.0042],
    ['LTD', 0.0023],
    ['LTD.', 0.001],
  ],
  clg: [
    ['COMPANY LIMITED BY GUARANTEE', 0.94],
    ['CLG', 0.03],
    ['CUIDEACHTA FAOI THEORAINN RÁTHAÍOCHTA', 0.03],
  ],
  dac: [
    ['DESIGNATED ACTIVITY COMPANY', 0.98],
    ['DAC', 0.015],
    ['CUIDEACHTA GHNÍOMHAÍOCHTA AINMNITHE', 0.005],
  ],
  uc: [
    ['UNLIMITED COMPANY', 0.95],
    ['UC', 0.04],
    ['CUIDEACHTA NEAMHTHEORANTA', 0.01],
  ],
  plc: [
    ['PUBLIC LIMITED COMPANY', 0.8],
    ['PLC', 0.2],
  ],
  external: [
    ['', 0.5],
    ['INC.', 0.2],
    ['GMBH', 0.15],
    ['B.V.', 0.15],
  ],
  other: [['', 1]],
}
const IRISH_SUFFIX = /TEORANTA|CUIDEACHTA/

/** Words before the legal form. The register has 15, 38, 30, 12 and 5 %; the additions below make short names longer. */
const CORE_WORD_COUNTS: Weighted<number> = [
  [1, 0.185],
  [2, 0.43],
  [3, 0.29],
  [4, 0.075],
  [5, 0.02],
]

/** Names of two and three words that hold two invented ones: three in four words of the register occur once. */
const TWO_STEMS_OF_TWO_RATE = 0.45
const TWO_STEMS_OF_THREE_RATE = 0.8

/** 14.7 % of the register's names hold a double space, mostly before the legal form. */
const DOUBLE_SPACE_RATE = 0.147
const DOUBLE_SPACE_BEFORE_SUFFIX_RATE = 0.7
/** The register has 3 in 100,000. Ten times as many, so that a sample of 20,000 rows has a few. */
const TRAILING_SPACE_RATE = 0.0003
/** Before the legal form: `..., DESIGNATED ACTIVITY COMPANY`. The register has commas in 0.25 % of its names. */
const COMMA_RATE = 0.0025

/** What is done to the words before the legal form, and in which share of all names the register has it. */
type Addition = (words: readonly string[], random: Random) => string[]
const ADDITIONS: Weighted<Addition> = [
  [joinedBy('&'), 0.053],
  [joinedBy('AND'), 0.023],
  // The register has 0.04 %: raised, so that small samples have the sign that is read as "and".
  [joinedBy('+'), 0.002],
  [withApostrophe, 0.017],
  // Together with the fadas of Irish trades and legal forms: 0.9 % of the names.
  [withFada, 0.006],
  [(words, random) => [...words, `(${pick(random, ['IRELAND', 'EUROPE', 'HOLDINGS', ...COUNTIES])})`], 0.018],
  [withNumber, 0.02],
  [(words) => ['THE', ...words], 0.013],
  [(words, random) => [letter(random), letter(random), ...words], 0.04],
  [(words, random) => [`${letter(random)}.${letter(random)}.`, ...words], 0.01],
  [([first = '', ...rest], random) => [`${first}-${stem(random)}`, ...rest], 0.014],
  // Some lower case: `eVANABREL`.
  [([first = '', ...rest], random) => [`${pick(random, ['e', 'i', 'Mc'])}${first}`, ...rest], 0.0034],
]

/** Numbered companies of one group, `VANABREL AVIATION LEASING NO 12`: 1.8 % of the register's names. */
const SERIES_RATE = 0.018
/** Rows that draw on one group: about nine numbered companies each. */
const SERIES_ROWS = 512

/**
 * Names that are hard to tell apart. Every 500 rows have one pair, so 0.2 % of the rows repeat another's name, as in the
 * register; there most pairs are equal to the letter, here each kind is as frequent as the others.
 */
const TWIN_PERIOD_ROWS = 500
export const TWIN_KINDS = ['same', 'fada', 'apostrophe', 'double space', 'letter'] as const
type TwinKind = (typeof TWIN_KINDS)[number]
/** Rows from the first of a pair to the second: twins of one day have neighbouring numbers, the others are years apart. */
const TWIN_DISTANCE_ROWS: Record<TwinKind, number> = {
  same: 1,
  fada: 211,
  apostrophe: 317,
  'double space': 2,
  letter: 89,
}

/** A row's place in a pair; `leader` is the row that has the pair's first name. */
type Twin = { kind: TwinKind; leader: number; isLeader: boolean; pair: number }

export function twinAt(index: number): Twin | undefined {
  const pair = Math.floor(index / TWIN_PERIOD_ROWS)
  const kind = TWIN_KINDS[pair % TWIN_KINDS.length]
  if (kind === undefined) throw new Error('There are no kinds of twins')
  const leader = pair * TWIN_PERIOD_ROWS
  const distance = index - leader
  if (distance !== 0 && distance !== TWIN_DISTANCE_ROWS[kind]) return undefined
  return { kind, leader, isLeader: distance === 0, pair }
}

/** The legal form of a row. Twins are private limited companies, the form that nearly all have. */
export function formAt(seed: number, index: number): Form {
  return twinAt(index) ? 'ltd' : pickWeighted(randomFor(seed, index, FORM_STREAM), FORMS)
}

/** The name of a row, with its double and trailing spaces. */
export function nameAt(seed: number, index: number): string {
  const twin = twinAt(index)
  if (twin) return twinName(seed, twin)
  const random = randomFor(seed, index, NAME_STREAM)
  const suffix = pickWeighted(random, SUFFIXES[formAt(seed, index)])
  const core = happens(random, SERIES_RATE)
    ? seriesWords(seed, index)
    : ordinaryWords(random, IRISH_SUFFIX.test(suffix))
  return spaced(random, core, suffix)
}

function twinName(seed: number, { kind, leader, isLeader }: Twin): string {
  const random = randomFor(seed, leader, NAME_STREAM)
  const words = coreWords(random)
  const first = [...leadersWords(words, kind, random), 'LIMITED'].join(' ')
  return isLeader ? first : FOLLOWERS_NAME[kind](first)
}

function leadersWords(words: readonly string[], kind: TwinKind, random: Random): readonly string[] {
  if (kind === 'fada') return withFada(words)
  if (kind === 'apostrophe') return withApostrophe(words, random)
  return words
}

const FOLLOWERS_NAME: Record<TwinKind, (name: string) => string> = {
  same: (name) => name,
  fada: (name) => name.normalize('NFD').replace(/\p{M}/gu, ''),
  apostrophe: (name) => name.replace("'", ''),
  'double space': (name) => name.replace(' ', '  '),
  // The third letter: typing errors spare the first ones, and invented words never have a Q there.
  letter: (name) => `${name.slice(0, 2)}Q${name.slice(3)}`,
}

function ordinaryWords(random: Random, irish: boolean): string[] {
  const words = irish ? [pick(random, IRISH_TRADES), stem(random)] : coreWords(random)
  return ADDITIONS.reduce((result, [add, rate]) => (happens(random, rate) ? add(result, random) : result), words)
}

/**
 * Invented words first, then trades and an ending. A name with one invented word has it nearly alone, or thousands of
 * companies would have the same name, which the register refuses; those with two take words that others have as well.
 */
function coreWords(random: Random): string[] {
  const count = pickWeighted(random, CORE_WORD_COUNTS)
  if (count === 1) return [stem(random)]
  if (count === 2) return twoWords(random)
  const hasTwo = count > 3 || happens(random, TWO_STEMS_OF_THREE_RATE)
  const stems = hasTwo ? [sharedStem(random), sharedStem(random)] : [shortStem(random)]
  const trades = Array.from({ length: count - stems.length - 1 }, () => pickWeighted(random, TRADES))
  return [...new Set([...stems, ...trades, pickWeighted(random, ENDINGS)])]
}

function twoWords(random: Random): string[] {
  if (happens(random, TWO_STEMS_OF_TWO_RATE)) return [sharedStem(random), sharedStem(random)]
  const own = happens(random, 0.6) ? shortStem(random) : stem(random)
  return [own, pickWeighted(random, happens(random, 0.5) ? TRADES : ENDINGS)]
}

function seriesWords(seed: number, index: number): string[] {
  const group = Math.floor(index / SERIES_ROWS)
  const random = randomFor(seed, group, SERIES_STREAM)
  return [stem(random), pickWeighted(random, TRADES), 'LEASING', 'NO', String(1 + (index % SERIES_ROWS))]
}

function joinedBy(sign: string): Addition {
  return (words, random) => {
    const [last = '', ...before] = words.toReversed()
    return before.length === 0 ? [last, sign, pickWeighted(random, TRADES)] : [...before.toReversed(), sign, last]
  }
}

function withApostrophe([first = '', ...rest]: readonly string[], random: Random): string[] {
  return [happens(random, 0.8) ? `${first}'S` : `O'${first}`, ...rest]
}

const FADAS: Readonly<Record<string, string>> = { A: 'Á', E: 'É', I: 'Í', O: 'Ó', U: 'Ú' }

function withFada([first = '', ...rest]: readonly string[]): string[] {
  return [first.replace(/[AEIOU]/, (vowel) => FADAS[vowel] ?? vowel), ...rest]
}

function withNumber(words: readonly string[], random: Random): string[] {
  const number = String(1 + below(random, 99))
  // 0.28 % of the register's names begin with a digit, one in fourteen of those that have one.
  return happens(random, 0.07) ? [number, ...words] : [...words, number]
}

function letter(random: Random): string {
  return String.fromCodePoint(65 + below(random, 26))
}

function spaced(random: Random, core: readonly string[], suffix: string): string {
  const comma = suffix !== '' && happens(random, COMMA_RATE) ? ',' : ''
  const words = [...core.slice(0, -1), `${core.at(-1)}${comma}`, ...(suffix === '' ? [] : suffix.split(' '))]
  const end = happens(random, TRAILING_SPACE_RATE) ? ' ' : ''
  if (!happens(random, DOUBLE_SPACE_RATE) || words.length === 1) return words.join(' ') + end
  const beforeSuffix = suffix !== '' && happens(random, DOUBLE_SPACE_BEFORE_SUFFIX_RATE)
  const gap = beforeSuffix ? core.length : 1 + below(random, words.length - 1)
  return `${words.slice(0, gap).join(' ')}  ${words.slice(gap).join(' ')}${end}`
}
