/** Names as people type them: the status, and the company that is first. */
import { expect } from 'chai'
import { companyNumbers, openTestRegister, type Row, type TestRegister } from '../../support/companies.ts'

const EVIDENCE = { eircode: 'H91 A1A1', address: 'Quay Street' }
const NAMES =
  'AGBOTIC/BELVAIR/GREENLAYER/DAVIS MCCAFFREY/CMC HEATING AND PLUMBING/DALEM GROUP/PROSPEROUS FINANCIAL/VIATRIS/' +
  'LAREINE & CO./INNOPHARMA COMPANY/HAIWA INTERNATIONAL/ABBEYGATE PROPERTIES/LAPA COMMUNICATIONS AND MEDIA/STEWLEY/' +
  'BED RES/BED RES IRELAND/RHAW 61807/RHAW 61807 II/TELLINGENT/TELLINGENT HOLDINGS/STRATUM INVESTMENTS V/' +
  'STRATUM INVESTMENTS IV/QUADA IRELAND/QUADA IRELAND L'
const ROWS: Row[] = [
  ...NAMES.split('/').map((name, at) => ({ number: `${100 + at}`, name: `${name} LIMITED` })),
  // Without the evidence, which must not decide for a similar name.
  { number: '130', name: 'TALDRA CORRIN L LIMITED', eircode: 'D02 X285', address: '2 HIGH STREET, DUBLIN' },
  { number: '131', name: 'TALDRA CORRIN LIMITED' },
  { number: '335801', name: 'CROFTHORN DEVELOPMENTS LIMITED' },
  { number: '744311', name: 'AIB DRYLINING LIMITED' },
  { number: '744320', name: 'OLD WHARF LIMITED', status: 'Dissolved', dissolved: '2024-05-27' },
  // Common words weigh less, as in the register.
  ...Array.from('ABCDEFGHIJ', (each, at) =>
    ['INTERNATIONAL', 'PROPERTIES', 'DEVELOPMENTS', 'COMMUNICATIONS', 'MEDIA', 'IRISH COMPANY'].map((word, of) => ({
      number: `${800_000 + 10 * of + at}`,
      name: `CROWD${each} ${word} LIMITED`,
    })),
  ).flat(),
].map((row) => Object.assign({ eircode: EVIDENCE.eircode, address: '1 QUAY STREET, GALWAY' }, row))

const AGBOTIC_WITH_DOUBT =
  ', Edinburgh| ESOP| SPV| / Bluebell Oak| (Delaware)| Creditors| Credit Union| (Jordan Murphy)| (John Murphy)| GmbH|' +
  ' S.r.l.| Co| No. 2| II| (Jersey)| Pension Scheme| Fund| 1| Limited Edition| (dissolved 2024)| (In Liquidation)|' +
  ' TAS Holdings| Tx Pharma| was Dotted Line| old name Dotted Line| previously owned by Zed|' +
  ' (Ireland) II| 1| Street| D02 X285| LEI 529900T8BM49AURSDO56| No 57'
const AGBOTIC_EXPLAINED =
  '| 0851234567| LEI 529900T8BM49AURSDO55| €500.00| +353 1 234 5678| & Anor| and others| t/a Blue Door| T/A Blue Door|' +
  ' trading as Blue Door| f/k/a Blue Door Ltd| formerly Blue Door Holdings DAC| (previously known as Blue Door Ltd)|' +
  ', 1 Quay Street, Galway|, 1 Quay St, Co. Galway| 1 Quay Street| IE3206488LH| IBAN IE29 AIBK 9311 5212 3456 78| info@agbotic.ie|' +
  ' Invoice 12345| (CRO 100)| Company No. 100'

/** Each with at most 779 points, also with the evidence of the company. */
const DOUBTFUL: [first: string, names: string][] = [
  [
    '100',
    AGBOTIC_WITH_DOUBT.split('|')
      .map((text) => `AGBOTIC Ltd${text}`)
      .join('|'),
  ],
  ['100', 'Customer: AGBOTIC Ltd|Irish company AGBOTIC Ltd|Supplier - AGBOTIC Ltd|Zyx trading as AGBOTIC Ltd'],
  ['101', 'Belvair Ltd Edinburgh'],
  ['102', 'Greenlayer Ltd Hospital'],
  ['103', 'Davis Mccaffrey Ltd S.r.l.'],
  ['104', 'Cmc Heating And Plumbing Ltd UKI'],
  ['105', 'Dalem Group Ltd became Dotted Line'],
  ['106', 'PROSPEROUS FINANCIAL Ltd PLANNING'],
  ['107', 'VIATRIS Ltd (HEALTHCARE)'],
  ['110', 'HAIWA INT LTD|Haiwa Intern Limited|Supplier - Haiwa International Ltd'],
  ['111', 'ABBEYGATE PROP LTD'],
  ['112', 'LAPA COMM AND MEDIA LTD'],
  ['113', 'STEWLEY Ltd 1'],
  ['116', 'RHAW 61807 Ltd II'],
  ['118', 'TELLINGENT Ltd (Holdings)'],
  ['121', 'STRATUM INVESTMENTSI V LTD'],
  ['123', 'QUADA IRELANDL LTD'],
  ['335801', 'CROFTHORN DEV LTD|Crofthorn Developments Ltd Co'],
]
const MATCHED: [number: string, names: string][] = [
  [
    '100',
    AGBOTIC_EXPLAINED.split('|')
      .map((text) => `AGBOTIC Ltd${text}`)
      .join('|'),
  ],
  ['108', 'LAREINE AND COMPANY LIMITED|Lareine & Company'],
  ['109', 'Innopharma Co Ltd'],
  ['335801', '335 801|335-801|CRO 335 801|No 335801|Nr. 335801|335801|IE335801|#335801|Company No. 335801|335,801.0'],
  ['335801', '335801 CROFTHORN DEVELOPMENTS|Crofthorn Developments Ltd (No. 335801)'],
  ['744311', '0744311|AIB DRYLINING Ltd (CRO 744311)'],
  ['744320', 'Old Wharf Ltd (dissolved 2024)|Old Wharf Ltd, dissolved 27/05/2024'],
]

describe('a typed name', () => {
  let register: TestRegister

  before(async () => {
    register = await openTestRegister(ROWS)
  })

  after(() => register.close())

  for (const [first, names] of DOUBTFUL)
    it(`[12.10, 12.21] leaves doubt with ${first} first, whatever the evidence, in ${names.slice(0, 40)}`, () => {
      for (const name of names.split('|')) {
        const { status, candidates } = register.resolve({ name })
        expect(status, name).to.equal('ambiguous')
        expect(candidates[0]?.company.company_number, name).to.equal(first)
        expect(candidates[0]?.score).to.be.at.most(779)
        expect(register.resolve({ name, ...EVIDENCE }).status, name).to.equal('ambiguous')
      }
    })

  for (const [number, names] of MATCHED)
    it(`[12.1, 12.10, 12.20] matches ${number} in ${names.slice(0, 40)}`, () => {
      for (const name of names.split('|')) {
        const { status, match } = register.resolve({ name })
        expect(status, name).to.equal('matched')
        expect(match?.company.company_number, name).to.equal(number)
        expect(companyNumbers(register.search({ q: name }))[0], name).to.equal(number)
      }
    })

  it('[12.11] has most of its points with a legal form in front', () => {
    for (const name of ['(Ltd) Crofthorn Developments', 'Ltd. Crofthorn Developments'])
      expect(register.resolve({ name }).candidates[0], name).to.include({ score: 849 })
  })

  it('[12.4, 12.21] leaves doubt beside its number, and conflicts with a word before its form or another number', () => {
    const statusOf = (company_number: string, name: string) => register.resolve({ company_number, name }).status
    expect(statusOf('100', 'AGBOTIC Ltd ESOP')).to.equal('ambiguous')
    expect(statusOf('100', 'AGBOTIC ESOP Ltd')).to.equal('conflicting')
    expect(statusOf('118', 'TELLINGENT Ltd Holdings')).to.equal('conflicting')
    // Cut at 35 characters, and without a legal form.
    expect(statusOf('112', 'LAPA COMMUNICATIONS AND MED')).to.equal('matched')
    expect(statusOf('744320', 'OLD WHARF LIMITED (Dissolved), Galway')).to.equal('matched')
    const other = register.resolve({ name: 'AIB DRYLINING Ltd (CRO 744312)' })
    expect(other.status).to.equal('conflicting')
    expect(other.candidates[0]?.conflicts).to.deep.equal(['number_mismatch'])
  })

  it('[12.10] is not matched by evidence of a similar company if another name has its letters', () => {
    expect(register.resolve({ name: 'TALDRA CORRINL LTD', ...EVIDENCE }).status).to.equal('ambiguous')
    expect(register.resolve({ name: 'CMC HEATNG AND PLUMBING LTD', ...EVIDENCE }).status).to.equal('matched')
  })

  it('[12.20, 12.21] is none with a short number, or if no other word is left', () => {
    for (const name of ['No 57', 'Haiwa In Ltd', 'AGBOTIC ESOP Ltd', '335802', 'CRO 335802'])
      expect(register.resolve({ name }).status, name).to.equal('no_match')
  })
})
