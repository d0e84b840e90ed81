/** The dictionary: exact lookup, and exhaustive search for similar words. */
import { expect } from 'chai'
import fc from 'fast-check'
import { NameIndexBuilder } from '../../../store/index/build.ts'
import { sortWords, type Dictionary, type SimilarWord } from '../../../store/index/dictionary.ts'
import { equivalentsOf } from '../../../store/index/equivalents.ts'
import { NameIndex } from '../../../store/index/name-index.ts'
import { maxEditDistance, extractNumber } from '../../../store/index/spelling.ts'
import { unlimited } from '../../support/names.ts'
import { referenceDistance } from '../../support/edit-distance.ts'

function dictionaryOf(words: readonly string[]): Dictionary {
  const builder = new NameIndexBuilder()
  for (const [at, word] of words.entries())
    builder.add({ company_number: String(at + 1), legal_name: `${word} LIMITED`, status: null })
  return new NameIndex(builder.parts()).dictionary
}

/** Few letters, so that many words are similar; digits, other alphabets, Roman numerals, abbreviations. */
const letter = fc.constantFrom('a', 'e', 'r', 'z', 'k', '1', '2', 'б', '東')
const word = fc.oneof(
  { weight: 6, arbitrary: fc.array(letter, { minLength: 2, maxLength: 7 }).map((letters) => letters.join('')) },
  fc.constantFrom('ii', 'iii', 'iv', 'vi', '57', '58', 'two', 'intl', 'international', 'saint', 'street', 'st'),
)
const words = fc.uniqueArray(word, { minLength: 1, maxLength: 60 })

/** The reference: applies the documented rules to every word. */
function scanSimilar(all: readonly string[], text: string): Map<string, number> {
  const found = new Map<string, number>()
  const isKnown = all.includes(text)
  if (isKnown) found.set(text, 1)
  for (const other of equivalentsOf(text)) if (all.includes(other)) found.set(other, 0.95)
  if (extractNumber(text) === text) return found
  const limit = Math.min(maxEditDistance(text.length), isKnown ? 1 : 2)
  const similarityWithin = (asked: string, other: string) => {
    const apart = referenceDistance(asked, other)
    return apart > limit ? 0 : 1 - apart / Math.max(asked.length, other.length)
  }
  // Digits among letters are also read as the letters that they resemble, each as one edit.
  const read = text.replace(/\d/g, (digit) => 'oizeasgtbg'.charAt(Number(digit)))
  const digits = isKnown || extractNumber(text) === '' ? 0 : (text.match(/\d/g)?.length ?? 0)
  for (const other of all) {
    if (found.has(other) || !areNumbersCompatible(text, other)) continue
    // Both the word and its reading must have compatible numbers.
    const isReadable = digits > 0 && areNumbersCompatible(read, other)
    const ofRead = isReadable ? similarityWithin(read, other) - digits / text.length : 0
    const similarity = Math.max(similarityWithin(text, other), ofRead)
    if (similarity > 0) found.set(other, isKnown ? similarity * 0.9 : similarity)
  }
  return found
}

/** Equal numbers, or digits in place of letters in one of the words. */
function areNumbersCompatible(one: string, other: string): boolean {
  const numbers = [extractNumber(one), extractNumber(other)]
  if (numbers[0] === numbers[1]) return true
  const isMixed = /\d/.test(one + other) && ![one, other].some((each) => /^\d+$/.test(each))
  return numbers.includes('') && isMixed && one.replace(/\d/g, '') !== other.replace(/\d/g, '')
}

const byText = (one: string, other: string) => (one < other ? -1 : 1)
const byRank = (one: SimilarWord, other: SimilarWord) => other.similarity - one.similarity || one.word - other.word

describe('the dictionary', () => {
  it('finds every word, and numbers words by length, letters and code units, in any order of insertion', () => {
    fc.assert(
      fc.property(words, words, (held, others) => {
        const dictionary = dictionaryOf(held)
        expect(dictionary.size).to.equal(held.length)
        for (const text of held) expect(dictionary.text(dictionary.find(text) ?? -1)).to.equal(text)
        for (const text of others) expect(dictionary.find(text) !== undefined).to.equal(held.includes(text))
        const ordered = Array.from({ length: dictionary.size }, (_, each) => dictionary.text(each))
        expect(ordered).to.deep.equal(sortWords(held.toReversed()))
        const lengths = ordered.map(({ length }) => length)
        expect(lengths).to.deep.equal(lengths.toSorted((one, other) => one - other))
      }),
    )
  })

  it('finds exactly the similar words of the rules, most similar first', () => {
    fc.assert(
      fc.property(words, word, (held, text) => {
        const dictionary = dictionaryOf(held)
        const found = dictionary.findSimilar(text, unlimited())
        const named = new Map(found.map(({ word: number, similarity }) => [dictionary.text(number), similarity]))
        expect(named.size).to.equal(found.length)
        expect(Object.fromEntries(named)).to.deep.equal(Object.fromEntries(scanSimilar(held, text)))
        expect(found).to.deep.equal(found.toSorted(byRank))
      }),
      { numRuns: 500, examples: [[['area'], 'area1']] },
    )
  })

  it('[12.14] lists the words that begin with a text, in the order of their texts', () => {
    fc.assert(
      fc.property(words, fc.oneof(word, fc.stringMatching(/^[aerzk]{1,3}$/)), (held, prefix) => {
        const dictionary = dictionaryOf(held)
        const listed = Array.from(dictionary.withPrefix(prefix), (number) => dictionary.text(number))
        expect(listed).to.deep.equal(held.filter((text) => text.startsWith(prefix)).toSorted(byText))
      }),
      { numRuns: 300 },
    )
  })
})
