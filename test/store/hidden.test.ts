/** The set of hidden characters, compared with a second list over all of Unicode. */
import { expect } from 'chai'
import { hasHidden, replaceHidden, removeHidden } from '../../store/hidden.ts'
import { allOfUnicode, hiddenIn } from '../support/unicode.ts'

const FORMS = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const

describe('hidden characters', () => {
  it('are all detected, removed and replaced, and no others', () => {
    for (const text of allOfUnicode(64)) {
      const found = hiddenIn(text)
      expect(hasHidden(text)).to.equal(found.length > 0)
      expect(Array.from(removeHidden(text))).to.deep.equal(Array.from(text).filter((each) => !found.includes(each)))
      const shown: string[] = []
      const visible = replaceHidden(text, (character) => `<${shown.push(character)}>`)
      expect(shown).to.deep.equal(found)
      expect(visible.replace(/<[0-9]+>/g, '')).to.equal(removeHidden(text))
    }
  })

  it('are created by no normal form, except from two that are hidden themselves', () => {
    const made = [...allOfUnicode(1)].filter((character) =>
      FORMS.some((form) => character.normalize(form) !== character && hasHidden(character.normalize(form))),
    )
    expect(made).to.deep.equal(['\u3164', '\uFFA0'])
    expect(made.filter((character) => !hasHidden(character))).to.deep.equal([])
  })

  it('do not include spaces, letters, accents, currency signs or emoji of a name', () => {
    const names = [
      'Ó Súilleabháin & Sons',
      'ḂREW \u0301 €',
      '\u00A0\u2003',
      '🍺❤👍🏽',
      '\u{1F1EE}\u{1F1EA}',
      '\uFFFD',
      '中村',
    ]
    for (const name of names) expect(removeHidden(name)).to.equal(name)
  })
})
