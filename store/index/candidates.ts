/**
 * Which names may be meant: those that are called exactly so, and a bounded pool of those that may be similar.
 *
 * Every name that holds a word which a word of the query may stand for is given credit for it. Credit over the weights of
 * both names bounds their similarity from above, so the pool is drawn in the order of the bounds and whoever measures
 * the names exactly knows when no later one can be better. Nothing is drawn by chance: the same query gives the same pool.
 */
import type { NameIndex } from './name-index.ts'
import type { Query, QuerySplit, QueryTerm } from './query.ts'

/** Bounds are compared in thousandths. */
const BOUND_STEPS = 1000

export interface Pool {
  /** Names by descending bound, then in their order. */
  names: Uint32Array
  /** The bound of each, from 0 to 1. */
  bounds: Float64Array
  /** No name that was left out is more similar than this; 0 when none was. */
  boundLeftOut: number
}

export interface PoolLimits {
  /** Names that can't be as similar as this are not drawn. */
  similarityMin: number
  namesMax: number
  accepts: (name: number) => boolean
}

/** The names whose words are exactly these, in their order. */
export function sameNames(index: NameIndex, words: readonly string[]): number[] {
  const wanted: number[] = []
  for (const text of words) {
    const word = index.dictionary.find(text)
    if (word === undefined) return []
    wanted.push(word)
  }
  const [first, ...others] = wanted
  if (first === undefined) return []
  const rarest = others.reduce((best, word) => (holds(word) < holds(best) ? word : best), first)
  return Array.from(index.holders(rarest).filter((name) => isEqual(index.words(name), wanted)))

  function holds(word: number): number {
    return index.holders(word).length
  }
}

function isEqual(words: Uint32Array, wanted: readonly number[]): boolean {
  return words.length === wanted.length && wanted.every((word, place) => words[place] === word)
}

/** Reused between draws: one number for every name of the register is too much to make anew for each query. */
interface Ledger {
  credits: Float32Array
  /** The last term that gave a name credit, counted over all draws; each term gives it once. */
  stamps: Uint32Array
  stamp: number
  touched: Uint32Array
}

const ledgers = new WeakMap<NameIndex, Ledger>()

function ledgerOf(index: NameIndex): Ledger {
  const known = ledgers.get(index)
  if (known) return known
  const { size } = index
  const ledger = {
    credits: new Float32Array(size),
    stamps: new Uint32Array(size),
    stamp: 0,
    touched: new Uint32Array(size),
  }
  ledgers.set(index, ledger)
  return ledger
}

export function drawPool(index: NameIndex, query: Query, limits: PoolLimits): Pool {
  const ledger = ledgerOf(index)
  const touched = giveCredit(index, query, { ledger, similarityMin: limits.similarityMin })
  const pool = select(index, query, { ledger, touched, limits })
  for (let at = 0; at < touched; at += 1) ledger.credits[ledger.touched[at]!] = 0
  return pool
}

/** What a term gives to the names that hold a word. */
interface Gift {
  word: number
  amount: number
}

/**
 * Credits names term by term, what tells most first, and returns how many names got any. A name whose first credit comes
 * so late that it can't be similar enough, with all that may still come, is not begun: most names that hold nothing but
 * common words of the query.
 */
function giveCredit(
  index: NameIndex,
  query: Query,
  { ledger, similarityMin }: { ledger: Ledger; similarityMin: number },
): number {
  const { credits, stamps } = ledger
  const { nameWeights } = index
  // A step below, for bounds are rounded up to one.
  const shareMin = Math.max(similarityMin - 1 / BOUND_STEPS, Number.MIN_VALUE)
  let touched = 0
  const giveTo = (names: Uint32Array, amount: number, later: number) => {
    const { stamp } = ledger
    const weightMax = (amount + later) / shareMin - query.totalWeight
    for (let at = 0; at < names.length; at += 1) {
      const name = names[at]!
      const held = credits[name]!
      if (held === 0) {
        if (nameWeights[name]! > weightMax) continue
        ledger.touched[touched++] = name
      } else if (stamps[name] === stamp) continue
      stamps[name] = stamp
      credits[name] = held + amount
    }
  }
  const gifts = query.terms.toSorted((one, other) => other.weight - one.weight).map((term) => giftsOf(index, term))
  let later = gifts.reduce((sum, [most]) => sum + (most?.amount ?? 0), 0)
  for (const split of query.splits) {
    ledger.stamp += 1
    giveTo(neighbours(index, split.parts), creditOfSplit(index, split), Number.POSITIVE_INFINITY)
  }
  for (const ofTerm of gifts) {
    later -= ofTerm[0]?.amount ?? 0
    ledger.stamp += 1
    for (const { word, amount } of ofTerm) giveTo(index.holders(word), amount, later)
  }
  return touched
}

/** The largest first. */
function giftsOf(index: NameIndex, { weight, similar }: QueryTerm): Gift[] {
  return similar
    .map(({ word, similarity }) => ({ word, amount: similarity * (weight + index.weights[word]!) }))
    .toSorted((one, other) => other.amount - one.amount)
}

function creditOfSplit(index: NameIndex, { weight, parts, similarity }: QuerySplit): number {
  return similarity * (weight + index.weights[parts[0]]! + index.weights[parts[1]]!)
}

/** The names that hold one word directly before another. */
function neighbours(index: NameIndex, [before, after]: readonly [number, number]): Uint32Array {
  const fewer = index.holders(before).length < index.holders(after).length ? before : after
  return index.holders(fewer).filter((name) => {
    const words = index.words(name)
    return words.some((word, place) => word === before && words[place + 1] === after)
  })
}

/** Draws the names with the highest bounds: counted by bound first, so that nothing is sorted that is not drawn. */
function select(
  index: NameIndex,
  query: Query,
  { ledger, touched, limits }: { ledger: Ledger; touched: number; limits: PoolLimits },
): Pool {
  const { similarityMin, namesMax, accepts } = limits
  const stepMin = Math.floor(similarityMin * BOUND_STEPS)
  const counts = new Uint32Array(BOUND_STEPS + 2)
  const steps = new Uint16Array(touched)
  for (let at = 0; at < touched; at += 1) {
    const name = ledger.touched[at]!
    const bound = ledger.credits[name]! / (query.totalWeight + index.nameWeights[name]!)
    const step = Math.min(BOUND_STEPS, Math.ceil(bound * BOUND_STEPS))
    if (step < stepMin || !accepts(name)) continue
    steps[at] = step + 1
    counts[step]! += 1
  }
  const places = new Uint32Array(BOUND_STEPS + 2)
  for (let step = BOUND_STEPS; step >= 0; step -= 1) places[step] = places[step + 1]! + counts[step + 1]!
  const names = new Uint32Array(Math.min(namesMax, places[0]! + counts[0]!))
  const bounds = new Float64Array(names.length)
  let boundLeftOut = 0
  for (let at = 0; at < touched; at += 1) {
    const step = steps[at]! - 1
    if (step < 0) continue
    const place = places[step]!++
    const bound = step / BOUND_STEPS
    if (place >= namesMax) boundLeftOut = Math.max(boundLeftOut, bound)
    else {
      names[place] = ledger.touched[at]!
      bounds[place] = bound
    }
  }
  return { names, bounds, boundLeftOut }
}
