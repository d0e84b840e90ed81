/** The name in a web or e-mail address, and texts that only look like one. */
import { expect } from 'chai'
import { replaceWebAddress } from '../../../agent/search/web-address.ts'
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
