/** Builds the name index of a snapshot. Companies are added in ascending order of their numbers. */
import { join } from 'node:path'
import { compareCompanyNumbers, type Company } from '../dataset/company.ts'
import { NAMES_FILE } from '../files/layout.ts'
import { sortWords } from './dictionary.ts'
import { hashKey, joinedKey } from './name-keys.ts'
import { parseName } from './normalise-name.ts'
import { writeIndexFile, type IndexParts } from './index-file.ts'
import { SUFFIXES } from './suffixes.ts'

/** A growing list. Plain arrays take more memory (`bench perf`, row "import, peak memory"). */
class Uint32List {
  #values = new Uint32Array(1024)
  #length = 0

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Uint32Array(this.#length * 2)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#length] = value
    this.#length += 1
  }

  get length(): number {
    return this.#length
  }

  view(): Uint32Array {
    return this.#values.subarray(0, this.#length)
  }
}

export class NameIndexBuilder {
  readonly #words = new Map<string, number>()
  /** Per company, the position of its first word in `nameWords`. */
  readonly #starts = new Uint32List()
  readonly #nameWords = new Uint32List()
  readonly #joinedHashes = new Uint32List()
  readonly #suffixes = new Uint32List()
  readonly #statuses = new Map<string | null, number>()
  readonly #statusOf = new Uint32List()
  readonly #numberStarts = new Uint32List()
  readonly #digits = new Uint32List()
  #lastNumber = ''

  /** Throws unless the number is greater than the last one. Quarantined companies are not added. */
  add({ company_number, legal_name, status }: Pick<Company, 'company_number' | 'legal_name' | 'status'>): void {
    if (compareCompanyNumbers(this.#lastNumber, company_number) >= 0)
      throw new Error('Companies must be added in ascending order of their numbers')
    this.#lastNumber = company_number
    const { core, suffix } = parseName(legal_name)
    this.#starts.push(this.#nameWords.length)
    for (const word of core) this.#nameWords.push(internId(this.#words, word))
    this.#joinedHashes.push(hashKey(joinedKey(core)))
    this.#suffixes.push(SUFFIXES.indexOf(suffix))
    this.#statusOf.push(internId(this.#statuses, status))
    this.#numberStarts.push(this.#digits.length)
    for (let at = 0; at < company_number.length; at += 1) this.#digits.push(company_number.charCodeAt(at))
  }

  async write(folder: string): Promise<void> {
    await writeIndexFile(join(folder, NAMES_FILE), this.parts())
  }

  parts(): IndexParts {
    this.#starts.push(this.#nameWords.length)
    this.#numberStarts.push(this.#digits.length)
    const { wordLengths, wordUnits, wordsByText, newNumbers } = this.#sortedWords()
    const nameWords = this.#nameWords.view().map((word) => newNumbers[word]!)
    const holders = groupByKey(this.#words.size, (visit) => this.#forEachPosting(nameWords, visit))
    const hashes = this.#joinedHashes.view()
    // The number of buckets is a power of two of at least the number of names.
    const buckets = 2 ** Math.ceil(Math.log2(Math.max(1, hashes.length)))
    const joined = groupByKey(buckets, (visit) => hashes.forEach((hash, name) => visit(hash & (buckets - 1), name)))
    return {
      facts: { statuses: [...this.#statuses.keys()] },
      sections: {
        wordLengths,
        wordUnits,
        wordsByText,
        nameStarts: this.#starts.view(),
        nameWords,
        holderStarts: holders.starts,
        holders: holders.values,
        joinedStarts: joined.starts,
        joinedNames: joined.values,
        nameSuffixes: Uint8Array.from(this.#suffixes.view()),
        nameStatuses: Uint16Array.from(this.#statusOf.view()),
        numberStarts: this.#numberStarts.view(),
        numberDigits: Uint8Array.from(this.#digits.view()),
      },
    }
  }

  #sortedWords() {
    const words = sortWords(this.#words.keys())
    const newNumbers = new Uint32Array(words.length)
    const longest = words.at(-1)?.length ?? 0
    const wordLengths = new Uint32Array(longest + 2)
    const wordUnits = new Uint16Array(words.reduce((sum, { length }) => sum + length, 0))
    let offset = 0
    for (const [number, word] of words.entries()) {
      newNumbers[this.#words.get(word)!] = number
      wordLengths[word.length + 1] = number + 1
      for (let at = 0; at < word.length; at += 1) wordUnits[offset + at] = word.charCodeAt(at)
      offset += word.length
    }
    for (let length = 1; length < wordLengths.length; length += 1)
      wordLengths[length] = Math.max(wordLengths[length]!, wordLengths[length - 1]!)
    // The default order of strings is that of their code units.
    const wordsByText = Uint32Array.from(words.toSorted(), (word) => newNumbers[this.#words.get(word)!]!)
    return { wordLengths, wordUnits, wordsByText, newNumbers }
  }

  /** Visits every word with the names that contain it, ascending, each once. */
  #forEachPosting(nameWords: Uint32Array, visit: (word: number, name: number) => void): void {
    const starts = this.#starts.view()
    for (let name = 0; name + 1 < starts.length; name += 1) {
      for (let at = starts[name]!; at < starts[name + 1]!; at += 1) {
        const isRepeated = nameWords.subarray(starts[name], at).includes(nameWords[at]!)
        if (!isRepeated) visit(nameWords[at]!, name)
      }
    }
  }
}

/** Groups values by key. Those of a key are from `starts[key]` to `starts[key + 1]` in `values`. */
function groupByKey(keys: number, forEachPair: (visit: (key: number, value: number) => void) => void) {
  const starts = new Uint32Array(keys + 1)
  forEachPair((key) => (starts[key + 1]! += 1))
  for (let key = 0; key < keys; key += 1) starts[key + 1]! += starts[key]!
  const values = new Uint32Array(starts[keys]!)
  const next = starts.slice()
  forEachPair((key, value) => (values[next[key]!++] = value))
  return { starts, values }
}

function internId<Key>(known: Map<Key, number>, key: Key): number {
  const found = known.get(key)
  if (found !== undefined) return found
  known.set(key, known.size)
  return known.size - 1
}
