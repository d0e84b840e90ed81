/**
 * The distinct words of all names, with exact lookup and spelling search. They are sorted by length, common letters and
 * code units. Words of one length are side by side. Those with the same common letters form a group. Spelling search
 * skips groups and words only when their letter sets prove that the edit distance exceeds the limit. Without groups it
 * is much slower (benchmark row `search`).
 */
import { equivalentsOf } from './equivalents.ts'
import { lettersDiffer, letterCountsDiffer, commonLetters, letterMasks } from './letters.ts'
import type { OperationBudget } from './operation-budget.ts'
import {
  extractNumber,
  haveCompatibleNumbers,
  maxEditDistance,
  spellingSimilarity,
  toCodeUnits,
  withLettersForDigits,
} from './spelling.ts'

/** Similarity of an abbreviation or of another notation of a number. */
const EQUIVALENT_SIMILARITY = 0.95
/** Similarity of "bakery" and "bakeries". Too low for a match. */
const PLURAL_SIMILARITY = 0.79
const PLURAL_LETTERS_MIN = 4
/** A query word that occurs in the register is seldom a misspelling, so its variants count less and need one edit. */
const KNOWN_WORD_FACTOR = 0.9
const KNOWN_WORD_EDITS_MAX = 1
/** Of a variant that was found: checking its number, and sorting and pairing it later. */
const OPERATIONS_PER_VARIANT = 100

/** Greater than every code unit of a word. */
const LAST_UNIT = '\uFFFF'

interface DictionarySections {
  /** By length, from 0 to the longest plus 1: the number of the first word with at least that length. */
  wordLengths: Uint32Array
  wordUnits: Uint16Array
  /** The numbers of all words, in the order of their texts. */
  wordsByText: Uint32Array
}

/** A word of the register, and its similarity to a query word: 1 for the word itself. */
export interface SimilarWord {
  word: number
  similarity: number
}

export class Dictionary {
  readonly size: number
  readonly #lengths: Uint32Array
  readonly #units: Uint16Array
  readonly #byText: Uint32Array
  /** By length, the position of its first word in `#units`. */
  readonly #offsets: Uint32Array
  readonly #lengthOf: Uint16Array
  readonly #once: Uint32Array
  readonly #twice: Uint32Array
  /** The first word of every group; the last entry is the number of words. */
  readonly #groups: Uint32Array
  readonly #groupLetters: Uint32Array
  /** The first group of every length. */
  readonly #lengthGroups: Uint32Array

  constructor({ wordLengths, wordUnits, wordsByText }: DictionarySections) {
    this.#lengths = wordLengths
    this.#units = wordUnits
    this.#byText = wordsByText
    this.size = wordLengths.at(-1) ?? 0
    this.#offsets = computeOffsets(wordLengths)
    this.#lengthOf = new Uint16Array(this.size)
    this.#once = new Uint32Array(this.size)
    this.#twice = new Uint32Array(this.size)
    this.#lengthGroups = new Uint32Array(wordLengths.length)
    this.#groups = this.#formGroups()
    this.#groupLetters = this.#groups.subarray(0, -1).map((first) => commonLetters(this.#once[first]!))
  }

  find(text: string): number | undefined {
    const { length } = text
    if (length > this.#longest) return undefined
    const { units } = toCodeUnits(text)
    const group = commonLetters(letterMasks(units, 0, length).once)
    let low = this.#lengths[length]!
    let high = this.#lengths[length + 1]!
    while (low < high) {
      const middle = (low + high) >>> 1
      const order = group - commonLetters(this.#once[middle]!) || this.#compare(units, this.#offset(middle, length))
      if (order === 0) return middle
      if (order < 0) high = middle
      else low = middle + 1
    }
    return undefined
  }

  findExact(text: string): SimilarWord[] {
    const word = this.find(text)
    return word === undefined ? [] : [{ word, similarity: 1 }]
  }

  /** The words that begin with a text, itself included, in the order of their texts. */
  withPrefix(prefix: string): Uint32Array {
    return this.#byText.subarray(this.#firstFrom(prefix), this.#firstFrom(`${prefix}${LAST_UNIT}`))
  }

  begins(word: number, prefix: string): boolean {
    const length = this.length(word)
    if (length < prefix.length) return false
    const start = this.#offset(word, length)
    for (let at = 0; at < prefix.length; at += 1) if (this.#units[start + at] !== prefix.charCodeAt(at)) return false
    return true
  }

  #firstFrom(text: string): number {
    let low = 0
    let high = this.size
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.text(this.#byText[middle]!) < text) low = middle + 1
      else high = middle
    }
    return low
  }

  length(word: number): number {
    return this.#lengthOf[word]!
  }

  text(word: number): string {
    const length = this.length(word)
    const start = this.#offset(word, length)
    return String.fromCharCode(...this.#units.subarray(start, start + length))
  }

  findEquivalent(text: string): SimilarWord[] {
    const found = this.findExact(text)
    for (const each of equivalentsOf(text)) {
      const word = this.find(each)
      if (word !== undefined) found.push({ word, similarity: EQUIVALENT_SIMILARITY })
    }
    return found
  }

  /** The word, its equivalents and its spelling variants. When the budget is exceeded, variants are missing. */
  findSimilar(text: string, budget: OperationBudget): SimilarWord[] {
    const found = this.findEquivalent(text)
    const plural = text.length < PLURAL_LETTERS_MIN ? [] : this.findExact(otherNumberOf(text))
    for (const { word } of plural) found.push({ word, similarity: PLURAL_SIMILARITY })
    const isKnown = this.find(text) !== undefined
    const foundWords = new Set(found.map(({ word }) => word))
    const allowed = maxEditDistance(text.length)
    const variants = isKnown
      ? this.#spellingVariants(text, Math.min(allowed, KNOWN_WORD_EDITS_MAX), KNOWN_WORD_FACTOR, budget)
      : [...this.#variantsWithLetters(text, budget), ...this.#spellingVariants(text, allowed, 1, budget)]
    for (const each of variants.toSorted(bySimilarity)) {
      if (foundWords.has(each.word)) continue
      foundWords.add(each.word)
      found.push(each)
    }
    return found.toSorted(bySimilarity)
  }

  /** The words that are similar when the digits of a word are read as letters. Each digit counts as an edit. */
  #variantsWithLetters(text: string, budget: OperationBudget): SimilarWord[] {
    const read = withLettersForDigits(text)
    if (read === undefined) return []
    const digits = extractNumber(text).length / text.length
    const words = [...this.findExact(read), ...this.#spellingVariants(read, maxEditDistance(read.length), 1, budget)]
    return words.flatMap(({ word, similarity }) =>
      similarity > digits && haveCompatibleNumbers(text, this.text(word))
        ? [{ word, similarity: similarity - digits }]
        : [],
    )
  }

  #spellingVariants(text: string, limit: number, factor: number, budget: OperationBudget): SimilarWord[] {
    const found: SimilarWord[] = []
    // Words that are numbers have no spelling variants.
    if (limit === 0 || extractNumber(text) === text) return found
    const letters = toCodeUnits(text)
    const masks = letterMasks(letters.units, 0, letters.length)
    const longest = Math.min(text.length + limit, this.#longest)
    for (let length = Math.max(1, text.length - limit); length <= longest; length += 1) {
      for (const word of this.#withSimilarLetters(masks, length, limit, budget)) {
        if (!budget.take(length)) return found
        const candidate = { units: this.#units, start: this.#offset(word, length), length }
        const similarity = spellingSimilarity(letters, candidate, limit)
        if (similarity === 0) continue
        if (!budget.take(OPERATIONS_PER_VARIANT)) return found
        if (haveCompatibleNumbers(text, this.text(word))) found.push({ word, similarity: similarity * factor })
      }
    }
    return found
  }

  /** The words of one length that may be within the limit: their letters do not prove a greater distance. */
  #withSimilarLetters(
    masks: ReturnType<typeof letterMasks>,
    length: number,
    limit: number,
    budget: OperationBudget,
  ): number[] {
    const found: number[] = []
    const wanted = commonLetters(masks.once)
    const [groups, groupLetters, once, twice] = [this.#groups, this.#groupLetters, this.#once, this.#twice]
    const end = this.#lengthGroups[length + 1]!
    if (!budget.take(end - this.#lengthGroups[length]!)) return found
    for (let group = this.#lengthGroups[length]!; group < end; group += 1) {
      if (lettersDiffer(wanted, groupLetters[group]!, limit)) continue
      const [first, next] = [groups[group]!, groups[group + 1]!]
      if (!budget.take(next - first)) return found
      for (let word = first; word < next; word += 1) {
        if (lettersDiffer(masks.once, once[word]!, limit)) continue
        if (!letterCountsDiffer(masks, { once: once[word]!, twice: twice[word]! }, limit)) found.push(word)
      }
    }
    return found
  }

  get #longest(): number {
    return this.#lengths.length - 2
  }

  #offset(word: number, length: number): number {
    return this.#offsets[length]! + (word - this.#lengths[length]!) * length
  }

  #compare(units: Uint16Array, offset: number): number {
    for (let at = 0; at < units.length; at += 1) {
      const difference = units[at]! - this.#units[offset + at]!
      if (difference !== 0) return difference
    }
    return 0
  }

  #formGroups(): Uint32Array {
    const firsts: number[] = []
    for (let length = 0; length <= this.#longest; length += 1) {
      this.#lengthGroups[length] = firsts.length
      let before = -1
      for (let word = this.#lengths[length]!; word < this.#lengths[length + 1]!; word += 1) {
        const { once, twice } = letterMasks(this.#units, this.#offset(word, length), length)
        this.#lengthOf[word] = length
        this.#once[word] = once
        this.#twice[word] = twice
        const group = commonLetters(once)
        if (group !== before) firsts.push(word)
        before = group
      }
    }
    this.#lengthGroups[this.#longest + 1] = firsts.length
    return Uint32Array.from([...firsts, this.size])
  }
}

/** The plural of a word in -y, or the singular of one in -ies; otherwise nothing. */
function otherNumberOf(word: string): string {
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.endsWith('y') ? `${word.slice(0, -1)}ies` : ''
}

function bySimilarity(one: SimilarWord, other: SimilarWord): number {
  return other.similarity - one.similarity || one.word - other.word
}

/** Sorts words in the order of their numbers. */
export function sortWords(words: Iterable<string>): string[] {
  const groupOf = (text: string) => commonLetters(letterMasks(toCodeUnits(text).units, 0, text.length).once)
  const grouped = Array.from(words, (text) => ({ text, group: groupOf(text) }))
  grouped.sort((one, other) => {
    const order = one.text.length - other.text.length || one.group - other.group
    return order || (one.text < other.text ? -1 : Number(one.text > other.text))
  })
  return grouped.map(({ text }) => text)
}

function computeOffsets(wordLengths: Uint32Array): Uint32Array {
  const offsets = new Uint32Array(wordLengths.length)
  for (let length = 1; length < wordLengths.length; length += 1)
    offsets[length] = offsets[length - 1]! + (wordLengths[length]! - wordLengths[length - 1]!) * (length - 1)
  return offsets
}
