/** Builds the name index of a snapshot. Companies are added in ascending order of their numbers. */
import { join } from 'node:path'
import { compareCompanyNumbers, type Company } from '../dataset/company.ts'
import { NAMES_FILE } from '../files/layout.ts'
import { sortWords } from './dictionary.ts'
import { buildJoinedNames, hashKey, joinedKey } from './joined-names.ts'
import { bucketOfInitials, INITIALS_BUCKETS, initialsOf } from './initials.ts'
import { parseName } from './normalise-name.ts'
import { writeIndexFile, type IndexParts } from './index-file.ts'
import { SUFFIXES } from './suffixes.ts'

/** A growing list of 32-bit integers. Plain arrays take more memory (benchmark row `import memory`). */
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

  /** A view of the values, not a copy. */
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
  /** Pairs of a bucket of initials and a name. */
  readonly #initials = new Uint32List()
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
    for (const initials of initialsOf(core)) {
      this.#initials.push(bucketOfInitials(initials))
      this.#initials.push(this.#suffixes.length)
    }
    this.#suffixes.push(SUFFIXES.indexOf(suffix))
    this.#statusOf.push(internId(this.#statuses, status))
    this.#numberStarts.push(this.#digits.length)
    for (let at = 0; at < company_number.length; at += 1) this.#digits.push(company_number.charCodeAt(at))
  }

  /** Writes the index file into a snapshot folder and syncs it. */
  async write(folder: string): Promise<void> {
    await writeIndexFile(join(folder, NAMES_FILE), this.parts())
  }

  parts(): IndexParts {
    this.#starts.push(this.#nameWords.length)
    this.#numberStarts.push(this.#digits.length)
    const { wordLengths, wordUnits, wordsByText, newNumbers } = this.#sortedWords()
    const nameWords = this.#nameWords.view().map((word) => newNumbers[word]!)
    return {
      facts: { statuses: [...this.#statuses.keys()] },
      sections: {
        wordLengths,
        wordUnits,
        wordsByText,
        nameStarts: this.#starts.view(),
        nameWords,
        ...this.#postings(nameWords),
        ...buildJoinedNames(this.#joinedHashes.view()),
        ...this.#initialsBuckets(),
        nameSuffixes: Uint8Array.from(this.#suffixes.view()),
        nameStatuses: Uint16Array.from(this.#statusOf.view()),
        numberStarts: this.#numberStarts.view(),
        numberDigits: Uint8Array.from(this.#digits.view()),
      },
    }
  }

  /** Sorts the words and maps their ids to their new numbers. */
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

  /** For every bucket the names with initials in it, ascending. */
  #initialsBuckets() {
    const pairs = this.#initials.view()
    const initialStarts = new Uint32Array(INITIALS_BUCKETS + 1)
    for (let at = 0; at < pairs.length; at += 2) initialStarts[pairs[at]! + 1]! += 1
    for (let bucket = 0; bucket < INITIALS_BUCKETS; bucket += 1) initialStarts[bucket + 1]! += initialStarts[bucket]!
    const initialNames = new Uint32Array(pairs.length / 2)
    const next = initialStarts.slice()
    for (let at = 0; at < pairs.length; at += 2) initialNames[next[pairs[at]!]!++] = pairs[at + 1]!
    return { initialStarts, initialNames }
  }

  /** Builds the postings: for every word the names that contain it, ascending, each once. */
  #postings(nameWords: Uint32Array) {
    const starts = this.#starts.view()
    const holderStarts = new Uint32Array(this.#words.size + 1)
    const forEachPosting = (visit: (word: number, name: number) => void) => {
      for (let name = 0; name + 1 < starts.length; name += 1) {
        for (let at = starts[name]!; at < starts[name + 1]!; at += 1) {
          const isRepeated = nameWords.subarray(starts[name], at).includes(nameWords[at]!)
          if (!isRepeated) visit(nameWords[at]!, name)
        }
      }
    }
    forEachPosting((word) => (holderStarts[word + 1]! += 1))
    for (let word = 0; word < this.#words.size; word += 1) holderStarts[word + 1]! += holderStarts[word]!
    const holders = new Uint32Array(holderStarts.at(-1) ?? 0)
    const next = holderStarts.slice()
    forEachPosting((word, name) => (holders[next[word]!++] = name))
    return { holderStarts, holders }
  }
}

/** The id of a key: how many keys came before it. */
function internId<Key>(known: Map<Key, number>, key: Key): number {
  const found = known.get(key)
  if (found !== undefined) return found
  known.set(key, known.size)
  return known.size - 1
}
