/** Builds the name index of a snapshot while its companies are read in the order of their numbers. */
import { join } from 'node:path'
import { byNumber, type Company } from '../company.ts'
import { NAMES_FILE } from '../layout.ts'
import { inDictionaryOrder } from './dictionary.ts'
import { parseName } from './names.ts'
import { writeIndexFile, type IndexParts } from './sections.ts'
import { SUFFIXES } from './suffixes.ts'

/** A list of numbers that grows, at 4 bytes each. */
class Numbers {
  #held = new Uint32Array(1024)
  #length = 0

  push(value: number): void {
    if (this.#length === this.#held.length) {
      const larger = new Uint32Array(this.#length * 2)
      larger.set(this.#held)
      this.#held = larger
    }
    this.#held[this.#length] = value
    this.#length += 1
  }

  get length(): number {
    return this.#length
  }

  /** The numbers pushed so far, not copied. */
  taken(): Uint32Array {
    return this.#held.subarray(0, this.#length)
  }
}

export class NameIndexBuilder {
  readonly #words = new Map<string, number>()
  /** For every company where its words begin, and its words in the order they came up in. */
  readonly #starts = new Numbers()
  readonly #nameWords = new Numbers()
  readonly #suffixes = new Numbers()
  readonly #statuses = new Map<string | null, number>()
  readonly #statusOf = new Numbers()
  readonly #numberStarts = new Numbers()
  readonly #digits = new Numbers()
  #lastNumber = ''

  /** Adds a company; the caller adds them in the order of their numbers, shorter first, and leaves quarantined ones out. */
  add({ company_number, legal_name, status }: Pick<Company, 'company_number' | 'legal_name' | 'status'>): void {
    if (byNumber(this.#lastNumber, company_number) >= 0) throw new Error('Companies come in the order of their numbers')
    this.#lastNumber = company_number
    const { core, suffix } = parseName(legal_name)
    this.#starts.push(this.#nameWords.length)
    for (const word of core) this.#nameWords.push(numberIn(this.#words, word))
    this.#suffixes.push(SUFFIXES.indexOf(suffix))
    this.#statusOf.push(numberIn(this.#statuses, status))
    this.#numberStarts.push(this.#digits.length)
    for (let at = 0; at < company_number.length; at += 1) this.#digits.push(company_number.charCodeAt(at))
  }

  /** Writes the index into a snapshot's folder and waits until it is on disk. */
  async write(folder: string): Promise<void> {
    await writeIndexFile(join(folder, NAMES_FILE), this.parts())
  }

  parts(): IndexParts {
    this.#starts.push(this.#nameWords.length)
    this.#numberStarts.push(this.#digits.length)
    const { wordLengths, wordUnits, newNumbers } = this.#sortedWords()
    const nameWords = this.#nameWords.taken().map((word) => newNumbers[word]!)
    return {
      facts: { statuses: [...this.#statuses.keys()] },
      sections: {
        wordLengths,
        wordUnits,
        nameStarts: this.#starts.taken(),
        nameWords,
        ...this.#postings(nameWords),
        nameSuffixes: Uint8Array.from(this.#suffixes.taken()),
        nameStatuses: Uint16Array.from(this.#statusOf.taken()),
        numberStarts: this.#numberStarts.taken(),
        numberDigits: Uint8Array.from(this.#digits.taken()),
      },
    }
  }

  /** Puts the words in the dictionary's order, and says which number each then has. */
  #sortedWords() {
    const words = inDictionaryOrder(this.#words.keys())
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
    return { wordLengths, wordUnits, newNumbers }
  }

  /** For every word the names that hold it, in their order, each once. */
  #postings(nameWords: Uint32Array) {
    const starts = this.#starts.taken()
    const holderStarts = new Uint32Array(this.#words.size + 1)
    const forEachHolder = (visit: (word: number, name: number) => void) => {
      for (let name = 0; name + 1 < starts.length; name += 1) {
        for (let at = starts[name]!; at < starts[name + 1]!; at += 1) {
          const isRepeated = nameWords.subarray(starts[name], at).includes(nameWords[at]!)
          if (!isRepeated) visit(nameWords[at]!, name)
        }
      }
    }
    forEachHolder((word) => (holderStarts[word + 1]! += 1))
    for (let word = 0; word < this.#words.size; word += 1) holderStarts[word + 1]! += holderStarts[word]!
    const holders = new Uint32Array(holderStarts.at(-1) ?? 0)
    const next = holderStarts.slice()
    forEachHolder((word, name) => (holders[next[word]!++] = name))
    return { holderStarts, holders }
  }
}

function numberIn<Key>(known: Map<Key, number>, key: Key): number {
  const found = known.get(key)
  if (found !== undefined) return found
  known.set(key, known.size)
  return known.size - 1
}
