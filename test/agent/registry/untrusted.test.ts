/** Text from the chain as it is shown: over all of Unicode nothing that can't be seen is left. */
import { stringToHex } from 'viem'
import { expect } from 'chai'
import { printable, show } from '../../../agent/registry/untrusted.ts'
import { allOfUnicode, hiddenIn } from '../../support/unicode.ts'

describe('text from the chain', () => {
  it('shows nothing hidden, unassigned or private, and says so', () => {
    for (const text of allOfUnicode(64)) {
      const shown = show(stringToHex(text), 128)
      expect(hiddenIn(shown.text)).to.deep.equal([])
      expect(shown.text).to.not.match(/[\p{C}\p{Zl}\p{Zp}]/u)
      if (hiddenIn(text).length > 0) expect(shown.altered).to.equal(true)
    }
  })

  it('is shown as it is otherwise', () => {
    const text = 'Ó Súilleabháin & Sons 🍺 中村'
    expect(show(stringToHex(text), 128)).to.deep.equal({ text, altered: false })
    expect(printable(text)).to.equal(text)
  })
})
