/**
 * The inverted name index of one snapshot, read-only and in memory: the words, legal form and status of every name, and
 * for every word its postings. A name is identified by its position in the order of company numbers.
 */
import { join } from 'node:path'
import * as z from 'zod'
import { compareCompanyNumbers } from '../dataset/company.ts'
import { NAMES_FILE } from '../files/layout.ts'
import { orStoreError } from '../files/environment.ts'
import { Dictionary } from './dictionary.ts'
import { ABBREVIATED_WORDS } from './equivalents.ts'
import { isIntactIndexFile, readIndexFile, type IndexParts } from './index-file.ts'
import { hashKey, joinedKey } from './name-keys.ts'
import { SUFFIXES } from './suffixes.ts'

const factsSchema = z.strictObject({ statuses: z.array(z.string().nullable()) })

/** The names are part of the file format, which can have other sections. `holders` are the postings. */
const sectionsSchema = z.object({
  wordLengths: z.instanceof(Uint32Array),
  wordUnits: z.instanceof(Uint16Array),
  wordsByText: z.instanceof(Uint32Array),
  nameStarts: z.instanceof(Uint32Array),
  nameWords: z.instanceof(Uint32Array),
  holderStarts: z.instanceof(Uint32Array),
  holders: z.instanceof(Uint32Array),
  joinedStarts: z.instanceof(Uint32Array),
  joinedNames: z.instanceof(Uint32Array),
  nameSuffixes: z.instanceof(Uint8Array),
  nameStatuses: z.instanceof(Uint16Array),
  numberStarts: z.instanceof(Uint32Array),
  numberDigits: z.instanceof(Uint8Array),
})

export class NameIndex {
  readonly size: number
  readonly dictionary: Dictionary
  /** Inverse document frequency by word, smoothed. A rare abbreviation has the weight of its common form. */
  readonly weights: Float32Array
  /** The weight of a word that no name contains. */
  readonly unknownWeight: number
  /** By name, the sum of the weights of its words. */
  readonly nameWeights: Float32Array
  /** The distinct status texts, by the result of `statusOf`. */
  readonly statuses: readonly (string | null)[]
  readonly #parts: z.infer<typeof sectionsSchema>

  constructor(parts: IndexParts) {
    this.statuses = factsSchema.parse(parts.facts).statuses
    this.#parts = sectionsSchema.parse(parts.sections)
    this.dictionary = new Dictionary(this.#parts)
    this.size = this.#parts.nameStarts.length - 1
    this.unknownWeight = this.#weight(0)
    this.weights = new Float32Array(this.dictionary.size)
    for (let word = 0; word < this.dictionary.size; word += 1)
      this.weights[word] = this.#weight(this.postings(word).length)
    this.#equaliseAbbreviations()
    this.nameWeights = new Float32Array(this.size)
    for (let name = 0; name < this.size; name += 1) {
      let sum = 0
      for (const word of this.words(name)) sum += this.weights[word]!
      this.nameWeights[name] = sum
    }
  }

  /** The words of a name in order, without the legal form. */
  words(name: number): Uint32Array {
    const { nameStarts, nameWords } = this.#parts
    return nameWords.subarray(nameStarts[name], nameStarts[name + 1])
  }

  texts(name: number): string[] {
    return Array.from(this.words(name), (word) => this.dictionary.text(word))
  }

  /** Whether a name has these words next to each other. Does not create a view, unlike `words`. */
  hasRun(name: number, run: readonly number[]): boolean {
    const { nameStarts, nameWords } = this.#parts
    const last = nameStarts[name + 1]! - run.length
    for (let first = nameStarts[name]!; first <= last; first += 1)
      if (nameWords[first] === run[0] && run.every((word, at) => nameWords[first + at] === word)) return true
    return false
  }

  hasWord(name: number, word: number): boolean {
    const { nameStarts, nameWords } = this.#parts
    const end = nameStarts[name + 1]!
    for (let at = nameStarts[name]!; at < end; at += 1) if (nameWords[at] === word) return true
    return false
  }

  /** The names that contain a word, ascending. */
  postings(word: number): Uint32Array {
    const { holderStarts, holders } = this.#parts
    return holders.subarray(holderStarts[word], holderStarts[word + 1])
  }

  /** The names that consist of exactly these words, ascending. */
  findExact(words: readonly string[]): number[] {
    const text = words.join(' ')
    const isEqual = (name: number) => this.words(name).length === words.length && this.texts(name).join(' ') === text
    return words.length === 0 ? [] : this.#namesInBucket(joinedKey(words)).filter(isEqual)
  }

  /** The names with a joined key, ascending. */
  findJoined(key: string): number[] {
    return this.#namesInBucket(key).filter((name) => joinedKey(this.texts(name)) === key)
  }

  suffixOf(name: number): string {
    return SUFFIXES[this.#parts.nameSuffixes[name]!] ?? ''
  }

  statusOf(name: number): number {
    return this.#parts.nameStatuses[name]!
  }

  companyNumber(name: number): string {
    const { numberStarts, numberDigits } = this.#parts
    return String.fromCharCode(...numberDigits.subarray(numberStarts[name], numberStarts[name + 1]))
  }

  findByNumber(companyNumber: string): number | undefined {
    let low = 0
    let high = this.size - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      const order = compareCompanyNumbers(companyNumber, this.companyNumber(middle))
      if (order === 0) return middle
      if (order < 0) high = middle - 1
      else low = middle + 1
    }
    return undefined
  }

  /** The names that may have a joined key: all that do, and a few others. */
  #namesInBucket(key: string): number[] {
    const { joinedStarts, joinedNames } = this.#parts
    const buckets = joinedStarts.length - 1
    const bucket = hashKey(key) & (buckets - 1)
    return Array.from(joinedNames.subarray(joinedStarts[bucket], joinedStarts[bucket + 1]))
  }

  #equaliseAbbreviations(): void {
    const changes: [word: number, weight: number][] = []
    for (const text of ABBREVIATED_WORDS) {
      const [own, ...others] = this.dictionary.findEquivalent(text)
      if (own?.similarity !== 1) continue
      changes.push([own.word, Math.min(...[own, ...others].map(({ word }) => this.weights[word]!))])
    }
    for (const [word, weight] of changes) this.weights[word] = weight
  }

  #weight(frequency: number): number {
    return Math.log((this.size + 1) / (frequency + 0.5))
  }
}

/** Reads the index of a snapshot folder. Throws {@link StoreError} when it is missing or damaged. */
export function openNameIndex(folder: string): NameIndex {
  const path = join(folder, NAMES_FILE)
  return orStoreError(`${path} cannot be read as a name index`, () => new NameIndex(readIndexFile(path)))
}

export function hasNameIndex(folder: string): Promise<boolean> {
  return isIntactIndexFile(join(folder, NAMES_FILE))
}
