/**
 * The words of all names, each once: found exactly, or by their spelling.
 *
 * A word's number is its place in the order of length, common letters, code units. The words of one length lie side by
 * side and need no offsets, and among them those that have the same common letters form a group. Spelling is searched
 * through all of them and nothing is missed, whichever letter is wrong: a group, and then a word, is passed over when its
 * letters alone show that it is too many edits away, and the few that are left are measured.
 */
import { equivalentsOf } from './equivalents.ts'
import { areApart, areSurelyApart, groupOf, masksOf, type LetterMasks } from './letters.ts'
import { editsAllowed, lettersOf, numeralOf, spellingSimilarity, type Letters } from './spelling.ts'

/** What an abbreviation, or a number spelt out, counts as. */
const EQUIVALENT_SIMILARITY = 0.95
/** A word that names hold is seldom a misspelling of another: it is taken for one only so far, and at one edit. */
const KNOWN_WORD_FACTOR = 0.9
const KNOWN_WORD_EDITS_MAX = 1

export interface DictionarySections {
  /** For every length from 0 to one more than the longest: the number of the first word of that length or a greater. */
  wordLengths: Uint32Array
  /** The code units of all words, one after the other. */
  wordUnits: Uint16Array
}

/** A word of the register that a given word may stand for. */
export interface SimilarWord {
  word: number
  /** From 0 to 1; 1 for the word itself. */
  similarity: number
}

export class Dictionary {
  readonly size: number
  readonly #lengths: Uint32Array
  readonly #units: Uint16Array
  /** Where the words of each length begin in the units. */
  readonly #offsets: Uint32Array
  readonly #once: Uint32Array
  readonly #twice: Uint32Array
  /** The number of every group's first word, and after the last the number of words; and each length's first group. */
  readonly #groups: Uint32Array
  readonly #lengthGroups: Uint32Array

  constructor({ wordLengths, wordUnits }: DictionarySections) {
    this.#lengths = wordLengths
    this.#units = wordUnits
    this.size = wordLengths.at(-1) ?? 0
    this.#offsets = offsetsOf(wordLengths)
    this.#once = new Uint32Array(this.size)
    this.#twice = new Uint32Array(this.size)
    this.#lengthGroups = new Uint32Array(wordLengths.length)
    this.#groups = this.#formGroups()
  }

  /** A word's number, or undefined when no name holds it. */
  find(text: string): number | undefined {
    const { length } = text
    if (length > this.#longest) return undefined
    const letters = lettersOf(text)
    const group = groupOf(masksOf(letters.units, 0, length).once)
    let low = this.#lengths[length]!
    let high = this.#lengths[length + 1]!
    while (low < high) {
      const middle = (low + high) >>> 1
      const order = group - groupOf(this.#once[middle]!) || this.#compare(letters, this.#offset(middle, length))
      if (order === 0) return middle
      if (order < 0) high = middle
      else low = middle + 1
    }
    return undefined
  }

  /** The word itself as the only one it may stand for, or none. */
  exactly(text: string): SimilarWord[] {
    const word = this.find(text)
    return word === undefined ? [] : [{ word, similarity: 1 }]
  }

  text(word: number): string {
    const length = this.#lengthOf(word)
    const start = this.#offset(word, length)
    return String.fromCharCode(...this.#units.subarray(start, start + length))
  }

  /** Every word that this one is or may stand for, the most similar first, then in the order of their numbers. */
  similar(text: string): SimilarWord[] {
    const found = this.exactly(text)
    const isKnown = found.length > 0
    for (const each of equivalentsOf(text)) {
      const word = this.find(each)
      if (word !== undefined) found.push({ word, similarity: EQUIVALENT_SIMILARITY })
    }
    const sure = new Set(found.map(({ word }) => word))
    const allowed = editsAllowed(text.length)
    const misspellings = isKnown
      ? this.#misspellings(text, Math.min(allowed, KNOWN_WORD_EDITS_MAX), KNOWN_WORD_FACTOR)
      : this.#misspellings(text, allowed, 1)
    for (const each of misspellings) if (!sure.has(each.word)) found.push(each)
    return found.toSorted((one, other) => other.similarity - one.similarity || one.word - other.word)
  }

  #misspellings(text: string, limit: number, factor: number): SimilarWord[] {
    const found: SimilarWord[] = []
    const numeral = numeralOf(text)
    // Another number is another name.
    if (limit === 0 || numeral === text) return found
    const letters = lettersOf(text)
    const masks = masksOf(letters.units, 0, letters.length)
    const longest = Math.min(text.length + limit, this.#longest)
    for (let length = Math.max(1, text.length - limit); length <= longest; length += 1) {
      for (const word of this.#withSimilarLetters(masks, length, limit)) {
        const candidate = { units: this.#units, start: this.#offset(word, length), length }
        const similarity = spellingSimilarity(letters, candidate, limit)
        if (similarity > 0 && numeralOf(this.text(word)) === numeral)
          found.push({ word, similarity: similarity * factor })
      }
    }
    return found
  }

  /** The words of one length whose letters do not rule them out. */
  #withSimilarLetters(masks: LetterMasks, length: number, limit: number): number[] {
    const found: number[] = []
    const wanted = groupOf(masks.once)
    const groups = this.#groups
    const end = this.#lengthGroups[length + 1]!
    for (let group = this.#lengthGroups[length]!; group < end; group += 1) {
      const first = groups[group]!
      if (areApart(wanted, groupOf(this.#once[first]!), limit)) continue
      for (let word = first; word < groups[group + 1]!; word += 1) {
        const once = this.#once[word]!
        if (areApart(masks.once, once, limit)) continue
        if (!areSurelyApart(masks, { once, twice: this.#twice[word]! }, limit)) found.push(word)
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

  #lengthOf(word: number): number {
    let low = 0
    let high = this.#lengths.length - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (this.#lengths[middle]! <= word) low = middle
      else high = middle - 1
    }
    return low
  }

  #compare({ units, length }: Letters, offset: number): number {
    for (let at = 0; at < length; at += 1) {
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
        const { once, twice } = masksOf(this.#units, this.#offset(word, length), length)
        this.#once[word] = once
        this.#twice[word] = twice
        const group = groupOf(once)
        if (group !== before) firsts.push(word)
        before = group
      }
    }
    this.#lengthGroups[this.#longest + 1] = firsts.length
    return Uint32Array.from([...firsts, this.size])
  }
}

/** Puts words in the order that they are numbered in. */
export function inDictionaryOrder(words: Iterable<string>): string[] {
  const grouped = Array.from(words, (text) => ({
    text,
    group: groupOf(masksOf(lettersOf(text).units, 0, text.length).once),
  }))
  grouped.sort((one, other) => {
    if (one.text.length !== other.text.length) return one.text.length - other.text.length
    if (one.group !== other.group) return one.group - other.group
    return one.text < other.text ? -1 : Number(one.text > other.text)
  })
  return grouped.map(({ text }) => text)
}

function offsetsOf(wordLengths: Uint32Array): Uint32Array {
  const offsets = new Uint32Array(wordLengths.length)
  for (let length = 1; length < wordLengths.length; length += 1)
    offsets[length] = offsets[length - 1]! + (wordLengths[length]! - wordLengths[length - 1]!) * (length - 1)
  return offsets
}
