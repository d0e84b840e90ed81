/** Text as people type or copy it: web addresses, escapes, misread letters. */
import { expect } from 'chai'
import {
  rewriteTypedText,
  replaceWebAddress,
  restoreVowels,
  unescapeText,
  markLostLetters,
} from '../../../agent/operation/typed-text.ts'
import { normaliseText } from '../../../store/index/normalise-name.ts'

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
  // A page about a company
  ['https://www.solocheck.ie/Irish-Company/Kerrigan-Foods-335801', 'kerrigan foods 335801'],
  ['https://register.example.com/company/CompanyDetails.aspx?id=335801&type=C', '335801'],
  ['https://data.example.com/ie/kerrigan-foods-limited/about', 'kerrigan foods limited'],
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

const ESCAPED: [text: string, meant: string][] = [
  ['Kerrigan%20Foods', 'Kerrigan Foods'],
  ['Caf%C3%A9 Sol', 'Café Sol'],
  ['Kerrigan &amp; Foods', 'Kerrigan & Foods'],
  ['Caf&eacute; Sol', 'Cafe Sol'],
  ['Billy&rsquo;s&nbsp;Foods', 'Billy’s Foods'],
  ['Billy&#39;s &#x46;oods', "Billy's Foods"],
  ['<b>Kerrigan</b> Foods', ' Kerrigan  Foods'],
]
const PLAIN = ['100% Foods', '50%FF Foods', 'A & B; Foods', '&bogus; Foods', '&#0;&#99999999; Foods', 'A < B > C']

describe('escaped text', () => {
  for (const [text, meant] of ESCAPED) {
    it(`[12.19] is ${meant.trim()} in ${text}`, () => {
      expect(unescapeText(text)).to.equal(meant)
    })
  }

  for (const text of PLAIN) {
    it(`[12.19] is not in ${text}`, () => {
      expect(unescapeText(text)).to.equal(text)
    })
  }

  it('[12.19] is read as a name for similarity', () => {
    for (const text of ["Fish 'n' Chips", 'Fish ’n’ Chips', "Fish n' Chips"])
      expect(normaliseText(rewriteTypedText(text))).to.equal('fish and chips')
    expect(rewriteTypedText('Kerrigan+Foods+Ltd')).to.equal('Kerrigan Foods Ltd')
    expect(rewriteTypedText('A + B Foods')).to.equal('A + B Foods')
  })
})
