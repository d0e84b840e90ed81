/** The kinds of queries that are timed, from exact names to queries designed to be slow. */
import { below, pick, randomFor, type Random } from '../../support/random.ts'
import { coreWords, inCore, partsOf, type Change } from '../quality/names.ts'
import type { ReferenceRegister } from '../quality/register.ts'
import { shuffled } from '../quality/sample.ts'
import { withTwoTypos, withTypo } from '../quality/typos.ts'
import { formSwapped, wordsSwapped } from '../quality/words.ts'

export interface QueryGroup {
  kind: 'exact' | 'fuzzy' | 'broad' | 'hostile'
  queries: string[]
}

/** The longest query that the input allows. */
const QUERY_CHARACTERS_MAX = 160
const COMMON_WORDS = 40
/** The shortest word that a search completes. */
const CUT_WORD_LETTERS = 3
const ALPHABET = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ')
/** Words of these letters have the most spelling variants. */
const COMMON_LETTERS = Array.from('EAIRNOTLSUCD')
/** Words of fewer letters have few spelling variants, and few longer words fit into a query. */
const RANDOM_WORD_LETTERS = { min: 2, max: 10 }

const onlyOneWord: Change = (_random, name) => {
  const { core } = partsOf(name)
  return /^\p{L}{3,}$/u.test(core) ? core : undefined
}

/** The same register, number and seed give the same queries. */
export function makeQueries(
  register: ReferenceRegister,
  { count, seed }: { count: number; seed: number },
): QueryGroup[] {
  const names = shuffled(register.companies, seed).map(({ name }) => name)
  const common = commonWords(register)
  const changed = (change: Change) => firstOf(names, change, { count, seed })
  const made = (make: (random: Random) => string) =>
    Array.from({ length: count }, (_, index) => make(randomFor(seed, index, 1)))
  // The last word has many completions.
  const withCutWord = (random: Random) => `${pick(random, common)} ${pick(random, names).slice(0, CUT_WORD_LETTERS)}`
  return [
    { kind: 'exact', queries: names.slice(0, count) },
    { kind: 'exact', queries: changed(formSwapped) },
    { kind: 'fuzzy', queries: changed(inCore(withTypo)) },
    { kind: 'fuzzy', queries: changed(inCore(withTwoTypos)) },
    { kind: 'fuzzy', queries: changed(wordsSwapped) },
    { kind: 'broad', queries: changed(onlyOneWord) },
    { kind: 'broad', queries: made((random) => `${manyOf(random, common, 2)} LIMITED`) },
    { kind: 'broad', queries: made(withCutWord) },
    { kind: 'hostile', queries: made((random) => pick(random, HOSTILE)(random, common)) },
  ]
}

/** Makes a query that is designed to be slow. */
type Hostile = (random: Random, common: readonly string[]) => string

export const HOSTILE: readonly Hostile[] = [
  (random) => Array.from({ length: QUERY_CHARACTERS_MAX }, () => pick(random, ALPHABET)).join(''),
  (random) => pick(random, ALPHABET).repeat(QUERY_CHARACTERS_MAX),
  (random) => (pick(random, ALPHABET) + pick(random, ALPHABET)).repeat(QUERY_CHARACTERS_MAX / 2),
  (random, common) => manyOf(random, common, QUERY_CHARACTERS_MAX).slice(0, QUERY_CHARACTERS_MAX).trim(),
  (random, common) => manyOf(random, common, 3),
  (random) => manyOf(random, ['THE', 'OF', 'AND', 'COMPANY', 'LIMITED', 'IRELAND'], 12),
  (random) => manyOf(random, ALPHABET, QUERY_CHARACTERS_MAX / 2),
  (random) => String(below(random, 1_000)).padStart(3, '0'),
  (random) => `${pick(random, ALPHABET)}${pick(random, ALPHABET)}${pick(random, ALPHABET)}`,
  (random) => randomWords(random, ALPHABET),
  (random) => randomWords(random, COMMON_LETTERS),
  (random, common) =>
    `${manyOf(random, common, 4)} ${randomWords(random, COMMON_LETTERS)}`.slice(0, QUERY_CHARACTERS_MAX),
]

/** Fills a query with random words of one length. */
function randomWords(random: Random, letters: readonly string[]): string {
  const { min, max } = RANDOM_WORD_LETTERS
  const length = min + below(random, max - min + 1)
  const word = () => Array.from({ length }, () => pick(random, letters)).join('')
  return Array.from({ length: Math.floor((QUERY_CHARACTERS_MAX + 1) / (length + 1)) }, word).join(' ')
}

function manyOf(random: Random, words: readonly string[], count: number): string {
  return Array.from({ length: count }, () => pick(random, words)).join(' ')
}

function firstOf(names: readonly string[], change: Change, { count, seed }: { count: number; seed: number }): string[] {
  const queries: string[] = []
  for (const [index, name] of names.entries()) {
    const query = change(randomFor(seed, index, 0), name)
    if (query !== undefined) queries.push(query)
    if (queries.length === count) break
  }
  return queries
}

function commonWords({ companies }: ReferenceRegister): string[] {
  const uses = new Map<string, number>()
  for (const { name } of companies) {
    for (const word of coreWords(name)) uses.set(word, (uses.get(word) ?? 0) + 1)
  }
  const byUse = [...uses].toSorted(([, one], [, other]) => other - one)
  return byUse.slice(0, COMMON_WORDS).map(([word]) => word)
}
