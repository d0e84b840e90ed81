/** The set of hidden characters, compared with a second list over all of Unicode. */
import { expect } from 'chai'
import { escapeInvisible, hasHidden, replaceInvisible } from '../../base/hidden.ts'
import { allOfUnicode, hiddenIn } from '../support/unicode.ts'

const FORMS = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const

/** Private use, unassigned, line separator, paragraph separator. */
const OTHER_INVISIBLE = /[\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u

describe('hidden characters', () => {
  it('are replaced with all other characters that have no visible form', () => {
    for (const text of allOfUnicode(64)) {
      const invisible = Array.from(text).filter((each) => hiddenIn(each).length > 0 || OTHER_INVISIBLE.test(each))
      const shown: string[] = []
      replaceInvisible(text, (character) => `<${shown.push(character)}>`)
      expect(shown).to.deep.equal(invisible)
    }
  })

  it('are escaped for a terminal, with line ends, in one line of visible text', () => {
    expect(escapeInvisible('a\u001B[2Jb\u009B\n\u202Ec\u2028d\u{E0001}')).to.equal(
      String.raw`a\u{1b}[2Jb\u{9b}\u{a}\u{202e}c\u{2028}d\u{e0001}`,
    )
    expect(escapeInvisible('Ó Súilleabháin & Sons 🍺')).to.equal('Ó Súilleabháin & Sons 🍺')
  })

  it('are created by no normal form, except from two that are hidden themselves', () => {
    const made = [...allOfUnicode(1)].filter((character) =>
      FORMS.some((form) => character.normalize(form) !== character && hasHidden(character.normalize(form))),
    )
    expect(made).to.deep.equal(['\u3164', '\uFFA0'])
    expect(made.filter((character) => !hasHidden(character))).to.deep.equal([])
  })
})
