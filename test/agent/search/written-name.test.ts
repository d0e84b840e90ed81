/** What people write around a name: where the name ends, and what follows it. */
import { expect } from 'chai'
import fc from 'fast-check'
import { splitTextAfterForm, splitTradingName } from '../../../agent/search/written-name.ts'
import { parseName } from '../../../store/index/normalise-name.ts'
import { anyName } from '../../support/names.ts'

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

describe('a written name', () => {
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
