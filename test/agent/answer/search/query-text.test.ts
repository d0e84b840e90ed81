/** What people write around a name: where the name ends, and what follows it. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  markLostLetters,
  replaceWebAddress,
  restoreVowels,
  splitTextAfterForm,
  splitTradingName,
} from '../../../../agent/answer/search/query-text.ts'
import { normaliseText, parseName } from '../../../../store/index/normalise-name.ts'
import { anyName } from '../../../support/names.ts'

const ENDS_EARLIER: [name: string, before: string][] = [
  // A trading name
  ['Kerrigan Ltd T/A Blue Door', 'Kerrigan Ltd'],
  ['Kerrigan Ltd. t/a Blue Door Limited', 'Kerrigan Ltd'],
  ['Kerrigan Ltd.T/A Blue Door', 'Kerrigan Ltd'],
  ['Kerrigan Ltd (T/A Blue Door)', 'Kerrigan Ltd'],
  ['Kerrigan Ltd trading as Blue Door Ltd', 'Kerrigan Ltd'],
  ['Kerrigan Ltd tx Blue Door', 'Kerrigan Ltd'],
  ['Kerrigan Ltd TA Blue Door Ltd', 'Kerrigan Ltd'],
  ['Kerrigan Limited (formerly Blue Door Limited)', 'Kerrigan Limited'],
  // A note, a place or a number
  ['Tipperton Limited (Manor Estate)', 'Tipperton Limited'],
  ['Tipperton Ltd - Riverstick', 'Tipperton Ltd'],
  ['Tipperton Limited Riverstick', 'Tipperton Limited'],
  ['Tipperton DAC (CRO No. 666443)', 'Tipperton DAC'],
  ['Tipperton Teoranta, Gaillimh', 'Tipperton Teoranta'],
  ['Tipperton Ltd (Company No. 666443)', 'Tipperton Ltd'],
  ['Tipperton Limited, company number 666443', 'Tipperton Limited'],
  ['Tipperton Limited Company Reg. No: 666443', 'Tipperton Limited'],
  ['Tipperton Ltd Co. No. 666443', 'Tipperton Ltd'],
  ['Tipperton Ltd company 666443', 'Tipperton Ltd'],
  // The longest notation of the first legal form
  ['Tipperton Company Limited by Guarantee (Cork)', 'Tipperton Company Limited by Guarantee'],
  ['Tipperton Designated Activity Company - Cork', 'Tipperton Designated Activity Company'],
]

const WHOLE = [
  'Kerrigan Foods Limited',
  'Kerrigan Foods Limited.',
  'Kerrigan Foods',
  'Kerrigan T/A Blue Door',
  'Limited Editions Ireland',
  'Kerrigan Limited Edition Prints',
  'Kerrigan Limited Liability Company',
  'Kerrigan Limited Company Northern',
  'Kerrigan Limited Company of Cork',
  'Kerrigan Limited & Harrington',
  'Kerrigan Limited, Harrington Limited',
  'S.M.C. PLC & Controls Limited',
  'Lean Se Sigma',
  'Kerrigan LP Records',
]

describe('a name in a query', () => {
  for (const [name, before] of ENDS_EARLIER) {
    it(`[12.10] ends after its legal form in ${name}`, () => {
      expect(splitTextAfterForm(name)).to.deep.equal({ before, after: name.slice(before.length) })
    })
  }

  for (const name of WHOLE) {
    it(`[12.10] is the whole of ${name}`, () => {
      expect(splitTextAfterForm(name)).to.deep.equal({ before: name, after: '' })
    })
  }

  it('[12.10] has a legal form, and both parts are the text', () => {
    const text = fc
      .tuple(anyName, fc.constantFrom(' ', ' T/A ', ' (', ' - ', ', '), anyName)
      .map((parts) => parts.join(''))
    let split = 0
    fc.assert(
      fc.property(text, (name) => {
        const { before, after } = splitTextAfterForm(name)
        expect(before + after).to.equal(name)
        if (after === '') return
        split += 1
        expect(parseName(before).suffix).not.to.equal('')
        expect(splitTextAfterForm(before).after).to.equal('')
      }),
      { numRuns: 1000 },
    )
    expect(split).to.be.above(100)
  })

  it('[12.19] is after T/A if only that name has a legal form, and otherwise before it, for similarity', () => {
    for (const name of ['Kerrigan T/A Blue Door', 'Kerrigan (t/a Blue Door)', 'Kerrigan Ltd trading as Blue Door Ltd'])
      expect(parseName(splitTradingName(name)).core).to.deep.equal(['kerrigan'])
    for (const name of [
      'Blue Door t/a Kerrigan Ltd',
      'Blue Door (trading as Kerrigan Limited)',
      'Blue Door T/A Kerrigan DAC.',
    ])
      expect(parseName(splitTradingName(name)).core).to.deep.equal(['kerrigan'])
    for (const name of ['Kerrigan Ta Foods', 'T/A Kerrigan', 'Cat/Apple']) expect(splitTradingName(name)).to.equal(name)
  })
})

const ADDRESSES: [text: string, name: string][] = [
  ['kerriganfoods.ie', 'kerriganfoods'],
  ['KERRIGAN-FOODS.IE', 'kerrigan foods'],
  ['www.kerriganfoods.ie', 'kerriganfoods'],
  ['https://shop.kerriganfoods.ie/contact?a=b#c', 'kerriganfoods'],
  ['kerriganfoods.co.uk', 'kerriganfoods'],
  ['info@kerriganfoods.ie', 'kerriganfoods'],
  ['mary.byrne@mail.kerriganfoods.com', 'kerriganfoods'],
  ['kerrigan.foods@gmail.com', 'kerrigan foods'],
  ['kerriganfoods.ie Limited', 'kerriganfoods limited'],
  ['Kerrigan (info@kerrigan.ie)', 'kerrigan kerrigan'],
]

const OTHERS = [
  'Kerrigan Foods Ltd.',
  'Kerrigan Foods Ltd. Co. Cork',
  'Bodega @ Inspire Limited',
  'St. Kerrigan',
  'A.I. Kerrigan',
  'kerriganfoods.tv',
  'kerrigan.ie.foods',
]

describe('a web or e-mail address', () => {
  for (const [text, name] of ADDRESSES) {
    it(`[12.19] has the name ${name} in ${text}`, () => {
      expect(normaliseText(replaceWebAddress(text))).to.equal(name)
    })
  }

  for (const text of OTHERS) {
    it(`[12.19] is not in ${text}`, () => {
      expect(replaceWebAddress(text)).to.equal(text)
    })
  }
})

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
  it('[12.19] are restored if the vowel can still be recognised after two wrong decodings', () => {
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
