/** Sanitized text from the chain has no invisible characters, over all of Unicode. */
import { stringToHex } from 'viem'
import { expect } from 'chai'
import { sanitizeText } from '../../../agent/registry/reader.ts'
import { allOfUnicode, hiddenIn } from '../../support/unicode.ts'

describe('sanitizeText', () => {
  it('[4.4.7] replaces hidden, unassigned and private characters and reports that', () => {
    for (const text of allOfUnicode(64)) {
      const sanitized = sanitizeText(stringToHex(text), 128)
      expect(hiddenIn(sanitized.text)).to.deep.equal([])
      expect(sanitized.text).to.not.match(/[\p{C}\p{Zl}\p{Zp}]/u)
      if (hiddenIn(text).length > 0) expect(sanitized.altered).to.equal(true)
    }
  })

  it('keeps other text unchanged', () => {
    const text = 'Ó Súilleabháin & Sons 🍺 中村'
    expect(sanitizeText(stringToHex(text), 128)).to.deep.equal({ text, altered: false })
  })
})
