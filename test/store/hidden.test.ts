/** Which characters count as hidden, against a second list and over all of Unicode. */
import { expect } from 'chai'
import { hasHidden, showHidden, withoutHidden } from '../../store/hidden.ts'
import { allOfUnicode, hiddenIn } from '../support/unicode.ts'

const FORMS = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const

describe('hidden characters', () => {
  it('are those of the list, and no others', () => {
    const wrong = [...allOfUnicode(1)].filter((character) => hasHidden(character) !== hiddenIn(character).length > 0)
    expect(wrong).to.deep.equal([])
  })

  it('are all found, removed and shown, and nothing else is', () => {
    for (const text of allOfUnicode(64)) {
      const found = hiddenIn(text)
      expect(hasHidden(text)).to.equal(found.length > 0)
      expect(Array.from(withoutHidden(text))).to.deep.equal(Array.from(text).filter((each) => !found.includes(each)))
      const shown: string[] = []
      const visible = showHidden(text, (character) => `<${shown.push(character)}>`)
      expect(shown).to.deep.equal(found)
      expect(visible.replace(/<[0-9]+>/g, '')).to.equal(withoutHidden(text))
    }
  })

  it('come of no normal form, but for two that are hidden before', () => {
    const made = [...allOfUnicode(1)].filter((character) =>
      FORMS.some((form) => character.normalize(form) !== character && hasHidden(character.normalize(form))),
    )
    expect(made).to.deep.equal(['\u3164', '\uFFA0'])
    expect(made.filter((character) => !hasHidden(character))).to.deep.equal([])
  })

  it('are no spaces, letters, accents, currency signs or emoji of a name', () => {
    const names = [
      'Ó Súilleabháin & Sons',
      'ḂREW \u0301 €',
      '\u00A0\u2003',
      '🍺❤👍🏽',
      '\u{1F1EE}\u{1F1EA}',
      '\uFFFD',
      '中村',
    ]
    for (const name of names) expect(withoutHidden(name)).to.equal(name)
  })
})
