/**
 * The name index of one snapshot, read-only and in memory: every company's words, legal form and status, and for every
 * word the companies that hold it. A name is known here by its place in the order of company numbers.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { byNumber } from '../company.ts'
import { NAMES_FILE } from '../layout.ts'
import { StoreError } from '../open.ts'
import { Dictionary } from './dictionary.ts'
import { isSoundIndexFile, loadIndexFile, type IndexParts } from './sections.ts'
import { SUFFIXES, type Suffix } from './suffixes.ts'

const factsSchema = z.strictObject({ statuses: z.array(z.string().nullable()) })

const sectionsSchema = z.strictObject({
  wordLengths: z.instanceof(Uint32Array),
  wordUnits: z.instanceof(Uint16Array),
  nameStarts: z.instanceof(Uint32Array),
  nameWords: z.instanceof(Uint32Array),
  holderStarts: z.instanceof(Uint32Array),
  holders: z.instanceof(Uint32Array),
  nameSuffixes: z.instanceof(Uint8Array),
  nameStatuses: z.instanceof(Uint16Array),
  numberStarts: z.instanceof(Uint32Array),
  numberDigits: z.instanceof(Uint8Array),
})

export class NameIndex {
  /** How many names there are; they are numbered from 0. */
  readonly size: number
  readonly dictionary: Dictionary
  /** What a word tells: the natural logarithm of one name in how many holds it. By word number. */
  readonly weights: Float32Array
  /** What a word tells that no name holds. */
  readonly unknownWeight: number
  /** The weights of a name's words together. By name. */
  readonly nameWeights: Float32Array
  /** The register's status texts; `statusOf` gives a place in it. */
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
      this.weights[word] = this.#weight(this.holders(word).length)
    this.nameWeights = new Float32Array(this.size)
    for (let name = 0; name < this.size; name += 1) {
      let sum = 0
      for (const word of this.words(name)) sum += this.weights[word]!
      this.nameWeights[name] = sum
    }
  }

  /** A name's words in their order, without the legal form. */
  words(name: number): Uint32Array {
    const { nameStarts, nameWords } = this.#parts
    return nameWords.subarray(nameStarts[name], nameStarts[name + 1])
  }

  /** The names that hold a word, in their order. */
  holders(word: number): Uint32Array {
    const { holderStarts, holders } = this.#parts
    return holders.subarray(holderStarts[word], holderStarts[word + 1])
  }

  suffixOf(name: number): Suffix {
    return SUFFIXES[this.#parts.nameSuffixes[name]!] ?? ''
  }

  statusOf(name: number): number {
    return this.#parts.nameStatuses[name]!
  }

  companyNumber(name: number): string {
    const { numberStarts, numberDigits } = this.#parts
    return String.fromCharCode(...numberDigits.subarray(numberStarts[name], numberStarts[name + 1]))
  }

  /** The name of a company by its number. Throws when the index holds no such company. */
  nameOf(companyNumber: string): number {
    let low = 0
    let high = this.size - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      const order = byNumber(companyNumber, this.companyNumber(middle))
      if (order === 0) return middle
      if (order < 0) high = middle - 1
      else low = middle + 1
    }
    throw new Error('The name index holds no company of this number')
  }

  #weight(holders: number): number {
    return Math.log((this.size + 1) / (holders + 0.5))
  }
}

/** Opens the index in a snapshot's folder. Throws {@link StoreError} when there is none or it is damaged. */
export function openNameIndex(folder: string): NameIndex {
  const path = join(folder, NAMES_FILE)
  try {
    return new NameIndex(loadIndexFile(path))
  } catch (cause) {
    if (cause instanceof StoreError) throw cause
    throw new StoreError(`${path}: cannot be read as a name index`, { cause })
  }
}

/** Whether a snapshot's folder holds a name index that is what was written. */
export function hasNameIndex(folder: string): Promise<boolean> {
  return isSoundIndexFile(join(folder, NAMES_FILE))
}
