/** The text behind a legal form: where the name ends, and which words of the text are a part of it. */
import { expect } from 'chai'
import { splitTextBehindForm, splitTradingName } from '../../../agent/operation/text-behind-form.ts'
import { parseName } from '../../../store/index/normalise-name.ts'

const NOTES: [name: string, before: string][] = [
  // A trading name
  ['Kerrigan Ltd T/A Blue Door', 'Kerrigan Ltd'],
  ['Kerrigan Ltd.T/A Blue Door', 'Kerrigan Ltd'],
  ['Kerrigan Ltd TA Blue Door Ltd', 'Kerrigan Ltd'],
  ['Kerrigan Limited (formerly Blue Holdings Limited)', 'Kerrigan Limited'],
  ['Kerrigan Limited f/k/a Blue Door II', 'Kerrigan Limited'],
  // A place
  ['Tipperton Ltd - Riverstick', 'Tipperton Ltd'],
  ['Tipperton Limited Riverstick', 'Tipperton Limited'],
  ['Tipperton Ltd, Co. Kerry', 'Tipperton Ltd'],
  ['Tipperton Ltd, 5 Belfast Road, Trust House, D12, D02 X285', 'Tipperton Ltd'],
  ['Tipperton Ltd Citywest Business Campus, One Custom House Quay, Dublin 6W', 'Tipperton Ltd'],
  ['Tipperton Ltd, 5 Ballymore, Mayo', 'Tipperton Ltd'],
  // Other notes
  ['Tipperton Ltd & Anor', 'Tipperton Ltd'],
  ['Tipperton Ltd +353 1 234 5678', 'Tipperton Ltd'],
  ['Tipperton Ltd Tel: 0212345678, VAT No. IE6388047V', 'Tipperton Ltd'],
  ['Tipperton Ltd (Properties) Invoice 12345, IE3206488LH', 'Tipperton Ltd'],
  ['Tipperton Ltd, E: info@holdings.ie, www.group2.com', 'Tipperton Ltd'],
  // The longest notation of the first legal form, and the form twice
  ['Tipperton Company Limited by Guarantee (Cork)', 'Tipperton Company Limited by Guarantee'],
  ['Tipperton Designated Activity Company - Cork', 'Tipperton Designated Activity Company'],
  ['Tipperton Designated Activity Company (DAC)', 'Tipperton Designated Activity Company'],
]

const DISTINGUISHED: [name: string, words: string][] = [
  ['Kerrigan Ltd 1', '1'],
  ['Kerrigan Ltd No. 2', 'no 2'],
  ['Kerrigan Ltd Ref 2', 'ref 2'],
  ['Kerrigan Ltd Dublin Group (Green Building Society)', 'dublin group green building society'],
  ['Kerrigan Ltd (B)', 'b'],
  ['Kerrigan Ltd Holdngs', 'holdngs'],
  ['Kerrigan Ltd Pension Scheme', 'pension scheme'],
  ['Kerrigan Ltd now Blue Door', 'now blue door'],
  ['Kerrigan Ltd Properties (Cork)', 'properties'],
  ['Kerrigan Ltd (Staff Credit Union)', 'staff credit union'],
  ['Kerrigan Limited (Jersey), Belfast, London Road Derry', 'jersey belfast london road derry'],
  ['Kerrigan Limited, Newry, Co. Down', 'northern ireland'],
  ['Kerrigan Ltd (Cork) (Fund)', 'fund'],
  ['Kerrigan Ltd Fund t/a Blue Door', 'fund'],
]

const WHOLE = [
  'Kerrigan Foods Limited',
  'Kerrigan T/A Blue Door',
  'Limited Editions Ireland',
  'Kerrigan Limited Edition Prints',
  'Kerrigan Limited Company Northern',
  'Kerrigan Ltd Co Op',
  'Kerrigan Limited & Harrington',
  'Kerrigan Limited, Harrington Limited',
  'S.M.C. PLC & Controls Limited',
  'Lean Se Sigma',
  'Kerrigan LP Records',
]

describe('a name in a query', () => {
  for (const [name, before] of NOTES) {
    it(`[12.10] ends after its legal form in ${name}`, () => {
      const split = splitTextBehindForm(name)
      expect(split.before).to.equal(before)
      expect(split.behind?.distinguishing).to.deep.equal([])
    })
  }

  for (const [name, words] of DISTINGUISHED) {
    it(`[12.10] has the words ${words} behind its legal form in ${name}`, () => {
      const split = splitTextBehindForm(name)
      expect(parseName(split.before).core).to.deep.equal(['kerrigan'])
      expect(split.behind?.distinguishing.join(' ')).to.equal(words)
    })
  }

  for (const name of WHOLE) {
    it(`[12.10] is the whole of ${name}`, () => {
      expect(splitTextBehindForm(name)).to.deep.equal({ before: name, behind: undefined })
    })
  }

  it('[12.10] keeps the words of a note, which another name can have', () => {
    expect(splitTextBehindForm('Kerrigan Ltd (Ireland), Co. Kerry').behind?.words).to.include.members([
      'ireland',
      'kerry',
    ])
    expect(splitTextBehindForm('Kerrigan Ltd t/a Blue Door').behind?.words).to.deep.equal([])
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
