/** Letters that a wrong encoding changed: restored where they are recognisable, otherwise marked. */
import { expect } from 'chai'
import { markLostLetters, restoreVowels } from '../../../agent/search/misread-letters.ts'

/** The characters of Windows-1252 from 0x80 to 0x9F, without the five bytes that have none. */
const WINDOWS_1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'

function misread(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1')
  const read = bytes.replace(/[\u0080-\u009F]/gu, (byte) => WINDOWS_1252.charAt(byte.charCodeAt(0) - 0x80).trim())
  return read.replaceAll('\u00AD', '')
}

/** As the input of an operation. */
const misreadTwice = (text: string) => misread(misread(text)).normalize('NFKC')
const fold = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

describe('misread letters', () => {
  it('[12.19] are restored where two readings leave a vowel recognisable', () => {
    for (const vowel of 'áéóúÉÓÚ') {
      const text = `C${vowel}l Foods`
      expect(fold(restoreVowels(misreadTwice(text))), vowel).to.equal(fold(text))
    }
  })

  it('[12.19] are marked where the vowel is lost', () => {
    for (const vowel of 'íÁÍ')
      expect(markLostLetters(restoreVowels(misreadTwice(`C${vowel}l Foods`))), vowel).to.equal('Cʔl Foods')
    for (const lost of ['C?l Foods', 'C\uFFFDl Foods', 'CÃ?l Foods'])
      expect(markLostLetters(lost)).to.equal('Cʔl Foods')
    expect(markLostLetters('Caf? Sol')).to.equal('Cafʔ Sol')
    expect(markLostLetters('?ire Foods')).to.equal('ʔire Foods')
  })

  it('[12.19] are not in a text with other accents or a separate question mark', () => {
    for (const text of ['Café Sol', 'São Paulo Foods', 'What ? Foods', 'Ão Foods', 'CORK FOODS', 'CÃ³rk']) {
      expect(restoreVowels(text)).to.equal(text)
      expect(markLostLetters(text)).to.equal(text)
    }
  })
})
