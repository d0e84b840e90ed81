/**
 * How similar a name is to the one that is asked for, from 0 to 1.
 *
 * Words are paired, the strongest pairs first, each word once; two neighbouring words pair with one that is written
 * together. A pair counts with both its words' weights times how alike they are, and the sum is taken over the weights
 * of all words of both names. A word weighs the more the fewer names of the register hold it, so that "Kerry Holdings"
 * is not "Cork Holdings".
 *
 * What can be another company's name is held below what a match needs, whatever it weighs: a word without counterpart,
 * a pair that is only roughly alike, another legal form, the same words in another order.
 */
import type { NameIndex } from '../../store/index/name-index.ts'
import type { Query } from '../../store/index/query.ts'
import type { Suffix } from '../../store/index/suffixes.ts'

/** Below this, two words may well be two words. */
const PAIR_SIMILARITY_MIN = 0.8
/** Such names never get more, which is less than any evidence can lift to a match. */
const PARTIAL_FACTOR = 0.9
const OTHER_SUFFIX_FACTOR = 0.9
const OTHER_ORDER_FACTOR = 0.9
const MISSING_SUFFIX_FACTOR = 0.98
/** Only equal names are 1. */
const FUZZY_MAX = 0.9999
/** Digits that are published and reckoned with. */
const PRECISION = 10_000

export interface Comparison {
  /** To four decimals, rounded down. */
  similarity: number
  /** Whether every word of both names has a counterpart that is closely alike. */
  isWhole: boolean
}

interface Pair {
  /** Places in the query and in the name, first and last. */
  first: number
  last: number
  nameFirst: number
  nameLast: number
  similarity: number
  credit: number
}

type Meanings = Map<number, { first: number; last: number; weight: number; similarity: number }[]>

/** Makes the measure of one query. */
export function similarityTo(index: NameIndex, query: Query, suffix: Suffix): (name: number) => Comparison {
  const meanings = meaningsOf(query)
  return (name) => {
    const words = index.words(name)
    const pairs = choose(pairsOf(index, query, { meanings, words }))
    let credit = 0
    let paired = 0
    let namePaired = 0
    let isWhole = true
    for (const pair of pairs) {
      credit += pair.credit
      paired += pair.last - pair.first + 1
      namePaired += pair.nameLast - pair.nameFirst + 1
      if (pair.similarity < PAIR_SIMILARITY_MIN) isWhole = false
    }
    isWhole = isWhole && paired === query.words.length && namePaired === words.length
    const similarity =
      (credit / (query.totalWeight + index.nameWeights[name]!)) *
      (isWhole ? 1 : PARTIAL_FACTOR) *
      (isInOrder(pairs) ? 1 : OTHER_ORDER_FACTOR) *
      suffixFactor(suffix, index.suffixOf(name))
    return { similarity: Math.floor(Math.min(similarity, FUZZY_MAX) * PRECISION) / PRECISION, isWhole }
  }
}

/** By word of the register: which places of the query it may stand for. */
function meaningsOf({ terms }: Query): Meanings {
  const meanings: Meanings = new Map()
  for (const { first, last, weight, similar } of terms) {
    for (const { word, similarity } of similar) {
      const known = meanings.get(word)
      const meaning = { first, last, weight, similarity }
      if (known) known.push(meaning)
      else meanings.set(word, [meaning])
    }
  }
  return meanings
}

function pairsOf(
  index: NameIndex,
  query: Query,
  { meanings, words }: { meanings: Meanings; words: Uint32Array },
): Pair[] {
  const pairs: Pair[] = []
  for (let place = 0; place < words.length; place += 1) {
    const word = words[place]!
    const own = index.weights[word]!
    for (const { first, last, weight, similarity } of meanings.get(word) ?? []) {
      const credit = similarity * (weight + own)
      pairs.push({ first, last, nameFirst: place, nameLast: place, similarity, credit })
    }
    for (const { place: asked, weight, parts, similarity } of query.splits) {
      if (word !== parts[0] || words[place + 1] !== parts[1]) continue
      const credit = similarity * (weight + own + index.weights[parts[1]]!)
      pairs.push({ first: asked, last: asked, nameFirst: place, nameLast: place + 1, similarity, credit })
    }
  }
  return pairs
}

/** The strongest pairs of which no two share a word, in the order of the query. */
function choose(pairs: Pair[]): Pair[] {
  if (pairs.length > 1) pairs.sort(byStrength)
  const chosen: Pair[] = []
  for (const pair of pairs) if (!chosen.some((other) => overlaps(pair, other))) chosen.push(pair)
  return chosen.toSorted((one, other) => one.first - other.first)
}

function byStrength(one: Pair, other: Pair): number {
  return other.credit - one.credit || one.first - other.first || one.nameFirst - other.nameFirst
}

function overlaps(one: Pair, other: Pair): boolean {
  const inQuery = one.first <= other.last && other.first <= one.last
  const inName = one.nameFirst <= other.nameLast && other.nameFirst <= one.nameLast
  return inQuery || inName
}

function isInOrder(pairs: readonly Pair[]): boolean {
  return pairs.every((pair, place) => place === 0 || pairs[place - 1]!.nameLast < pair.nameFirst)
}

/** A legal form is weak evidence beside the words, but two different ones are two companies. */
function suffixFactor(asked: Suffix, held: Suffix): number {
  if (asked === held || asked === '') return 1
  return held === '' ? MISSING_SUFFIX_FACTOR : OTHER_SUFFIX_FACTOR
}
