/** Text as people type or copy it: web addresses, escapes, misread letters. */
import { expect } from 'chai'
import { rewriteTypedText, unescapeText } from '../../../../agent/answer/search/typed-text.ts'
import { normaliseText } from '../../../../store/index/normalise-name.ts'

/** The words that similarity compares. */
const wordsOf = (text: string) => normaliseText(rewriteTypedText(unescapeText(text)))

const MEANT: [text: string, words: string][] = [
  // A web or e-mail address
  ['KERRIGAN-FOODS.IE', 'kerrigan foods'],
  ['https://shop.kerriganfoods.ie/contact?a=b#c', 'kerriganfoods'],
  ['kerriganfoods.co.uk', 'kerriganfoods'],
  ['mary.byrne@mail.kerriganfoods.com', 'kerriganfoods'],
  ['kerrigan.foods@gmail.com', 'kerrigan foods'],
  ['kerriganfoods.ie Limited', 'kerriganfoods limited'],
  ['Kerrigan (info@kerrigan.ie)', 'kerrigan kerrigan'],
  // A page about a company
  ['https://www.solocheck.ie/Irish-Company/Kerrigan-Foods-335801', 'kerrigan foods 335801'],
  ['https://register.example.com/company/CompanyDetails.aspx?id=335801&type=C', '335801'],
  ['https://data.example.com/ie/kerrigan-foods-limited/about', 'kerrigan foods limited'],
  // Escapes of URLs and HTML
  ['Kerrigan%20Foods', 'kerrigan foods'],
  ['Caf%C3%A9 Sol', 'cafe sol'],
  ['Kerrigan &amp; Foods', 'kerrigan and foods'],
  ['Caf&eacute;&nbsp;&#x53;ol', 'cafe sol'],
  ['<a href="/a b"><b>Kerrigan</b><br /></a> <Foods>', 'kerrigan foods'],
  // A quoted "and"
  ["Fish 'n' Chips", 'fish and chips'],
  ['Fish ’n’ Chips', 'fish and chips'],
  ["Fish n' Chips", 'fish and chips'],
  // A letter that is lost
  ['C?l Foods', 'cʔl foods'],
  ['CÃ?l Foods', 'cʔl foods'],
  ['?ire Caf\uFFFD', 'ʔire cafʔ'],
]

const UNCHANGED = [
  'Kerrigan Foods Ltd. Co. Cork',
  'Bodega @ Inspire Limited',
  'A.I. Kerrigan',
  'kerriganfoods.tv',
  'kerrigan.ie.foods',
  '100% Foods',
  '50%FF Foods',
  '&bogus; Foods',
  'A < B > C',
  '<A Second> Foods',
  'A + B Foods',
  'São Paulo Foods',
  'What ? Foods',
]

describe('a typed text', () => {
  for (const [text, words] of MEANT)
    it(`[12.19] has the words ${words} in ${text}`, () => {
      expect(wordsOf(text)).to.equal(words)
    })

  for (const text of UNCHANGED)
    it(`[12.19] is read as it is in ${text}`, () => {
      expect(rewriteTypedText(unescapeText(text))).to.equal(text)
    })
})
