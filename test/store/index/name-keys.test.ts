/** The keys by which an index finds names. */
import { expect } from 'chai'
import { initialsOf } from '../../../store/index/name-keys.ts'

it('[12.13] initials are three to eight letters, with and without short words', () => {
  for (const [words, expected] of [
    ['electricity supply board', ['esb']],
    ['bank of cork city', ['bocc', 'bcc']],
    ['house of fraser', ['hof']],
    ['two words', []],
    ['a b c d e f g h', ['abcdefgh']],
    ['a b c d e f g h i', []],
  ] as const)
    expect(initialsOf(words.split(' '))).to.deep.equal(expected)
})
