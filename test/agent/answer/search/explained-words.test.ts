/** The words around a name: where the name ends, and what explains each word behind it. */
import { expect } from 'chai'
import { explain } from '../../../../agent/answer/search/explained-words.ts'
import { readTextAround, splitAfterForm, splitTradingName } from '../../../../agent/answer/search/text-around.ts'
import { SYNTHETIC_REGISTER } from '../../../../agent/answer/registers.ts'
import { parseName } from '../../../../store/index/normalise-name.ts'
import { SYNTHETIC_COMPANY } from '../../../../store/dataset/synthetic.ts'

const COMPANY = {
  ...SYNTHETIC_COMPANY,
  company_number: '335801',
  legal_name: 'KERRIGAN LIMITED',
  status: 'Dissolved',
  dissolved_date: '2024-05-27',
  registered_address: {
    lines: ['NO. 5, THE MALL, GROUP HOUSE', 'MAIN STREET', 'TOURLESTRANE, CO. SLIGO', 'IRISHTOWN, DUBLIN 2, Ireland'],
    eircode: 'F91 F663',
  },
}
const IN_LIQUIDATION = { ...COMPANY, status: 'Liquidation', dissolved_date: null }

const explains = (company: typeof COMPANY | typeof IN_LIQUIDATION, text: string) =>
  explain(SYNTHETIC_REGISTER, company, readTextAround(text, 'ltd'), {}) === 'certain'

const EXPLAINED = // A name that a word introduces
  (
    't/a Blue Door Holdings|.T/A Blue Door|trading as: Blue Door Ltd|t/a|T/as Blue Door|TA Blue Door Fund II|d/b/a Blue Door|' +
    'trading under the name of Blue Door|(formerly Blue Holdings Limited)|f/k/a Blue Door DAC|fka Blue Door Ltd|' +
    'FORMERLY KNOWN AS BLUE DOOR LTD|previously Blue Door Ltd|prev. Blue Door Ltd|was Blue Door Ltd|, T/A Blue Door, Main Street|' +
    // A name of the register
    'formerly Synthetic Test Company|' +
    // Its record
    ', Main Street, Tourlestrane|No. 5, The Mall|no 5 the mall group hse main st|Tourlestrane, Irishtown|F91F663|' +
    'Tourlestrane, Co. Sligo, Irishtown|Main Street, Tourlestrane, County Sligo|Irishtown, D2|Irishtown, D.2, Ireland|' +
    'Irishtown, Dublin 2, Irel|Main St, Tourlestr|Sligo, F91 F663|' +
    '(dissolved 2024)|Dissolved|dissolved on 27/05/2024|(Ltd)|Limited, Main Street|' +
    // Patterns
    '0851234567|+353 1 234 5678|Tel: 0212345678|, Ph. (01) 2345678|00353 87 123 4567|+353 (0)1 234 5678|Tel 234 5678|' +
    'E: info@holdings.ie|www.group2.com|https://fund.com/a?b|group.ie|info@gmail.com|accounts@group.eu|' +
    'VAT No. IE6388047V|IE3206488LH|VAT Reg No 6388047V|IBAN IE29 AIBK 9311 5212 3456 78|IE29AIBK93115212345678|' +
    'LEI 529900T8BM49AURSDO55|(529900T8BM49AURSDO55)|€500.00|EUR 1,200.50|250.00 euro|' +
    'Invoice 12345|Inv. #INV-2024-001|Ref: AB1234|PO 61807|Order No 12345|Customer No. 4711|SEPA DD Ref 12345|POS 0412|' +
    // Lists
    'Ireland|(IE)|, ROI|IRL|Rep. of Ireland|Éire|Registered in Ireland|Accounts Dept|FAO Accounts|- Head Office|' +
    'Registered Office, Main Street|(EUR)|- EUR|please|thanks|& Anor|and others'
  ).split('|')

const OPEN: [text: string, words: string][] = [
  // Words that no list of dangers has
  ['ESOP', 'esop'],
  ['GmbH', 'gmbh'],
  ['S.r.l.', 'srl'],
  ['became Dotted Line', 'became dotted line'],
  // Other notations of an introduction
  ['Tx Pharma', 'tx pharma'],
  ['previously owned by Blue Door', 'by blue door'],
  ['previously with Blue Door Ltd', 'with blue door ltd'],
  ['t/a Blue Door on behalf of Zyx Trustees', 'on behalf of zyx trustees'],
  ['T/as Blue Door as trustee of Zyx', 'as trustee of zyx'],
  ['formerly Blue Door Ltd Jersey', 'jersey'],
  ['formerly Blue Door Ltd now Dotted Line', 'now dotted line'],
  ['Fund t/a Blue Door, Jersey', 'fund/jersey'],
  ['formerly Blue Door Ltd now Zyx Ltd', 'now zyx ltd'],
  ['t/a Blue Door / Zyx Ltd t/a Dotted Line Ltd & Jersey', 'zyx ltd/and jersey'],
  // Check digits, too few digits
  ['IBAN IE28 AIBK 9311 5212 3456 78', 'iban ie28 aibk 9311 5212 3456 78'],
  ['IBAN IE00 AIBK 1901 2716 4749 15', 'iban ie00 aibk 1901 2716 4749 15'],
  ['LEI 529900T8BM49AURSDO56', 'lei 529900t8bm49aursdo56'],
  ['VAT IE6388047W', 'vat ie6388047w'],
  ['VAT IE0000000', 'vat ie0000000'],
  // Another country
  ['VAT GB123456789', 'vat gb123456789'],
  ['IBAN DE89 3704 0044 0532 0130 00', 'iban de89 3704 0044 0532 0130 00'],
  ['+44 20 7946 0000', 'and 44 20 7946 0000'],
  ['Tel 020 7946 0000', 'tel 020 7946 0000'],
  ['www.fund.co.uk', 'www fund co uk'],
  ['https://www.fund.de/a', 'https www fund de a'],
  ['info@fund.us', 'info fund us'],
  ['Northern Ireland', 'northern ireland'],
  ['Registered in England', 'registered in england'],
  // Another amount
  ['£1', '1'],
  ['$1,000.00', '1 000 00'],
  ['€2', '2'],
  ['250 euro', '250 euro'],
  // What can be a part of a name
  ['Accounts', 'accounts'],
  ['Sales Office', 'sales office'],
  ['Ref 2', 'ref 2'],
  ['Client 2020', 'client 2020'],
  ['www.Holdings', 'www holdings'],
  ['01/02/2024', '01 02 2024'],
  ['Euro 2020, USD 2', 'euro 2020 usd 2'],
  ['Limited Partners', 'partners'],
]

const DOUBTFUL =
  '5|No. 5|Number 5 The|2|Main|Street|Group|(House)|Street Tourlestrane|Kerry|, Main Street, Cork|Mall|dissolved 2023|' +
  'In Liquidation|Struck Off|Sligo Limited|D02 X285|(Sligo)|Co Sligo|- County Sligo|Tourlestrane|Tourlestrane, Co. Sligo|' +
  'Dublin 2|D2|Ireland Holdings|formerly Blue Door|previously Mary Murphy|fka Zwkqx|was Zwkqx|formerly|' +
  't/a Blue Door formerly Zyx Ltd|t/a Zyx, t/a Blue Door|info@synthetictestcompany.ie|www.synthetic-test-company.com'

const WHOLE = ['Kerrigan Foods Limited', 'Kerrigan T/A Blue Door', 'Limited Editions Ireland', 'Lean Se Sigma']

describe('the words around a name', () => {
  for (const text of EXPLAINED)
    it(`[12.10] are explained in ${text}`, () => {
      expect(explains(COMPANY, text)).to.equal(true)
    })

  for (const [text, words] of OPEN)
    it(`[12.10] need a record in ${text}`, () => {
      const { open } = readTextAround(text, 'ltd')
      expect(open.map((run) => run.join(' ')).join('/')).to.equal(words)
      expect(explains(COMPANY, text)).to.equal(false)
    })

  it('[12.10] are explained by the record of this company only', () => {
    for (const text of DOUBTFUL.split('|')) expect(explains(COMPANY, text), text).to.equal(false)
    expect(explains(IN_LIQUIDATION, '(In Liquidation)')).to.equal(true)
    for (const text of ['dissolved', 'dissolved 2024']) expect(explains(IN_LIQUIDATION, text), text).to.equal(false)
  })

  it('[12.10] can be in the name of another company, except those of a trading or former name', () => {
    expect(readTextAround('(Ireland) Tel: 0212345678', 'ltd').words).to.include.members(['ireland', 'tel'])
    expect(readTextAround('t/a Blue Door', 'ltd').words).to.deep.equal([])
  })

  it('[12.10] begin behind the longest notation of the first legal form', () => {
    for (const before of [
      'Kerrigan Company Limited by Guarantee',
      'Kerrigan Designated Activity Company',
      'Kerrigan LTD',
    ])
      expect(splitAfterForm(`${before} (Cork) Limited`)).to.deep.equal({ before, behind: ' (Cork) Limited' })
    for (const name of WHOLE) expect(splitAfterForm(name)).to.deep.equal({ before: name, behind: '' })
  })

  it('[12.19] are around the name after T/A if only that name has a legal form, and otherwise behind the one before', () => {
    const coreOf = (name: string) => parseName(splitTradingName(name).named).core
    for (const name of ['Kerrigan T/A Blue Door', 'Kerrigan (t/a Blue Door)', 'Kerrigan Ltd trading as Blue Door Ltd'])
      expect(coreOf(name)).to.deep.equal(['kerrigan'])
    for (const former of ['', ' (formerly Mill)', ' formerly Mill']) {
      const name = `Blue Door${former} t/a Kerrigan Ltd`
      expect(coreOf(name)).to.deep.equal(['kerrigan'])
      expect(splitTradingName(name).outside).to.match(/^Blue Door/)
    }
    for (const name of ['Kerrigan Ta Foods', 'T/A Kerrigan', 'Cat/Apple'])
      expect(splitTradingName(name)).to.deep.equal({ named: name, outside: '' })
  })
})
