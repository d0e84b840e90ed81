/** The words around a name: where the name ends, and what explains each word behind it. */
import { expect } from 'chai'
import {
  explains,
  readTextAround,
  splitAfterForm,
  splitTradingName,
} from '../../../../agent/answer/search/explained-words.ts'
import { parseName } from '../../../../store/index/normalise-name.ts'
import { SYNTHETIC_COMPANY } from '../../../../store/dataset/synthetic.ts'

const COMPANY = {
  ...SYNTHETIC_COMPANY,
  legal_name: 'KERRIGAN LIMITED',
  status: 'Dissolved',
  dissolved_date: '2024-05-27',
  registered_address: {
    lines: ['NO. 5, THE MALL, GROUP HOUSE', 'MAIN STREET', 'TOURLESTRANE, CO. SLIGO', 'IRISHTOWN, DUBLIN 2, Ireland'],
    eircode: 'F91 F663',
  },
}
const IN_LIQUIDATION = { ...COMPANY, status: 'Liquidation', dissolved_date: null }

const EXPLAINED = // A name that a word introduces
  (
    't/a Blue Door Holdings|.T/A Blue Door|trading as: Blue Door Ltd|(formerly Blue Holdings Limited)|f/k/a Blue Door II|' +
    'FORMERLY KNOWN AS BLUE DOOR|previously Blue Door Ltd|& Anor|and others|, T/A Blue Door, Co. Sligo|' +
    // Its record
    ', Main Street, Tourlestrane|No. 5, The Mall|no 5 the mall group house main st|(Sligo)|Co Sligo|- County Sligo|F91F663|' +
    'Irishtown, Dublin 2, Ireland|Dublin 2|(dissolved 2024)|Dissolved|dissolved on 27/05/2024|(Ltd)|Limited, Sligo|' +
    // Patterns
    '0851234567|+353 1 234 5678|Tel: 0212345678|, Ph. (01) 2345678|00353 87 123 4567|' +
    'E: info@holdings.ie|www.group2.com|https://fund.com/a?b|fund.co.uk|' +
    'VAT No. IE6388047V|IE3206488LH|VAT Reg No 6388047V|IBAN IE29 AIBK 9311 5212 3456 78|DE89370400440532013000|' +
    'LEI 529900T8BM49AURSDO55|(529900T8BM49AURSDO55)|€500.00|EUR 1,200.50|250 euro|£1.5m|' +
    'Invoice 12345|Inv. #INV-2024-001|Ref: AB1234|PO 61807|Order No 12345|Customer No. 4711'
  ).split('|')

const OPEN: [text: string, words: string][] = [
  // Words that no list of dangers has
  ['ESOP', 'esop'],
  ['GmbH', 'gmbh'],
  ['S.r.l.', 'srl'],
  ['became Dotted Line', 'became dotted line'],
  // Other notations of an introduction
  ['TA Associates Fund II', 'ta associates fund ii'],
  ['Tx Pharma', 'tx pharma'],
  ['previously owned by Blue Door', 'previously owned by blue door'],
  ['formerly part of Blue Door', 'formerly part of blue door'],
  ['Fund t/a Blue Door, Jersey', 'fund/jersey'],
  ['formerly Blue Door Ltd now Zyx Ltd', 'now zyx ltd'],
  ['t/a Blue Door / Zyx Ltd t/a Dotted Line Ltd & Jersey', 'zyx ltd/and jersey'],
  // Check digits, too few digits
  ['IBAN IE28 AIBK 9311 5212 3456 78', 'iban ie28 aibk 9311 5212 3456 78'],
  ['IBAN IE00 AIBK 1901 2716 4749 15', 'iban ie00 aibk 1901 2716 4749 15'],
  ['LEI 529900T8BM49AURSDO56', 'lei 529900t8bm49aursdo56'],
  ['Ref 2', 'ref 2'],
  ['Client 2020', 'client 2020'],
  ['www.Holdings', 'www holdings'],
  ['01/02/2024', '01 02 2024'],
  ['Euro 2020, USD 2', 'euro 2020 usd 2'],
  ['Limited Partners', 'partners'],
]

const DOUBTFUL =
  'Ireland/5/No. 5/Number 5 The/2/Main/Street/Group/(House)/Street Tourlestrane/Kerry/, Main Street, Cork/Mall/dissolved 2023/' +
  'In Liquidation/Struck Off/Sligo Limited/D02 X285'

const WHOLE = ['Kerrigan Foods Limited', 'Kerrigan T/A Blue Door', 'Limited Editions Ireland', 'Lean Se Sigma']

describe('the words around a name', () => {
  for (const text of EXPLAINED)
    it(`[12.10] are explained in ${text}`, () => {
      expect(explains(COMPANY, readTextAround(text, 'ltd'))).to.equal(true)
    })

  for (const [text, words] of OPEN)
    it(`[12.10] need a record in ${text}`, () => {
      const { open } = readTextAround(text, 'ltd')
      expect(open.map((run) => run.join(' ')).join('/')).to.equal(words)
      expect(explains(COMPANY, { words: [], open })).to.equal(false)
    })

  it('[12.10] are explained by the record of this company only', () => {
    for (const text of DOUBTFUL.split('/')) expect(explains(COMPANY, readTextAround(text, 'ltd')), text).to.equal(false)
    expect(explains(IN_LIQUIDATION, readTextAround('(In Liquidation)', 'ltd'))).to.equal(true)
    for (const text of ['dissolved', 'dissolved 2024'])
      expect(explains(IN_LIQUIDATION, readTextAround(text, 'ltd')), text).to.equal(false)
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
