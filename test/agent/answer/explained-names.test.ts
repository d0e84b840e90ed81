/** What a person is sure of is matched, and what can name another company is not (docs/accuracy.md). */
import { expect } from 'chai'
import { splitNamesakes } from '../../../agent/answer/companies.ts'
import { companyNumbers, openTestRegister, type Row, type TestRegister } from '../../support/companies.ts'

const EIRCODE = 'A67 RK73'
const ADDRESS = '5 HARBOUR VIEW AVENUE, LOWER QUAY BUSINESS PARK, WICKLOW HEAD, DUBLIN 2, DUBLIN, Ireland'
const OWN = { number: '335801', name: 'ARGO NAVIS LIMITED', eircode: EIRCODE, address: ADDRESS }
const ROWS: Row[] = [
  OWN,
  { number: '335802', name: 'POLYGON STUDIOS LIMITED', eircode: 'W91 A1A1', address: '1 SAMPLE STREET, NAAS, KILDARE' },
  { number: '335803', name: 'DOTTED LINE LIMITED', address: '9 MILL ROAD, SLIGO', status: 'Dissolved' },
  // Names with words of a list
  { number: '400', name: 'BED RES LIMITED', eircode: 'D02 X285', address: '1 QUAY ROAD, CORK, Ireland' },
  { number: '401', name: 'BED RES IRELAND LIMITED', status: 'Dissolved', dissolved: '2020-01-01' },
  { number: '410', name: 'GENESIS CARE LIMITED' },
  { number: '411', name: 'GENESIS CARE HEAD OFFICE LIMITED' },
  // One name
  { number: '500', name: 'KAPPA TWIN LIMITED', eircode: 'Y03 E8N9' },
  { number: '501', name: 'KAPPA TWIN LIMITED', eircode: 'T07 X2H5' },
  { number: '510', name: 'IOTA TWIN LIMITED', eircode: 'Y03 E8N9' },
  { number: '511', name: 'IOTA TWIN LIMITED' },
  { number: '520', name: 'SIGMA TWIN LIMITED', eircode: 'Y03 E8N9' },
  { number: '521', name: 'SIGMA TWIN DESIGNATED ACTIVITY COMPANY', eircode: 'T07 X2H5' },
  // Names that differ in "the"
  { number: '600', name: 'THE INSTITUTION OF SAMPLES LIMITED' },
  { number: '601', name: 'INSTITUTION OF SAMPLES LIMITED' },
  { number: '610', name: 'THE LANTERN ROOMS LIMITED' },
  { number: '700', name: 'ALFA SAMPLE TRADING LIMITED', eircode: 'T07 X2H5' },
  // Common words weigh less, as in the register.
  ...Array.from('ABCDEFGHIJKLMNOP', (each, at) => ({
    number: `${800 + at}`,
    name: `CROWD${each} SAMPLE TRADING LIMITED`,
  })),
]

const E = { eircode: EIRCODE }
type Given = { company_number?: string; eircode?: string; address?: string }
/** `#` stands for the name of the company with its legal form. */
type Case = [what: string, texts: string, given?: Given]

const MATCHED: Case[] = [
  [
    'its number in a footer',
    '#. Registered in Ireland No. 335801|#, Reg. in Ireland: 335801|#. Registered in Ireland with company number 335801|' +
      '#, a company incorporated in the Republic of Ireland, company no. 335801|# CRN 335801|#, CRN: 335801|# (No 335801)|' +
      '# with company number 335801|# IECRO.335801|# (NTRIE-335801)|# https://opencorporates.com/companies/ie/335801',
  ],
  [
    'its number in a footer and in the field',
    '#. Registered in Ireland No. 335801|# CRN 335801',
    { company_number: '335801' },
  ],
  [
    'its number alone',
    'IECRO.335801|IE-CRO-335801|NTRIE-335801|https://opencorporates.com/companies/ie/335801|Registered in Ireland 335801|' +
      'Registered in Ireland No. 335801',
  ],
  ['the country', '#, Ireland|# (IE)|#, ROI|# IRL|#, Rep. of Ireland|# - Republic of Ireland|#, Éire|# 🇮🇪'],
  ['the country and its Eircode', '#, Ireland|# (IE)', { ...E, address: '5 Harbour View Avenue' }],
  ['an agent and its Eircode', '# c/o Murphy & Co, Main Street|c/o #|#, C/O Murphy Accountants Ltd, 1 Mill Road', E],
  [
    'an agent and its Eircode in the text',
    `# c/o Murphy & Co, ${EIRCODE}|c/o #, ${EIRCODE}|#, A67RK73 care of Mary Murphy`,
  ],
  [
    'an agent and a line of its address',
    '# c/o Murphy & Co, 5 Harbour View Avenue|c/o #, 5 Harbour View Ave, Dublin 2',
  ],
  ['an agent and a line of its address in the field', '# c/o Murphy & Co', { address: '5 Harbour View Avenue' }],
  ['an agent and its number', '# c/o Murphy & Co (CRO 335801)'],
  ['an agent and its number in the field', '# c/o Murphy & Co', { company_number: '335801' }],
  [
    'a department',
    '# Accounts Dept|# FAO Accounts|# Head Office|# Registered Office|#, Accounts Payable|# (Head Office)',
  ],
  ['the currency', '# (EUR)|# - EUR|# €|# €500.00|# EUR 1,200.50'],
  [
    'a trading name',
    '# T/as Blue Kettle|# TA Blue Kettle|# d/b/a Blue Kettle|# trading under the name Blue Kettle|# t/a B',
  ],
  [
    'a former name with a legal form, or of the register',
    '# fka Blue Kettle Ltd|# prev. Blue Kettle Ltd|# previously Blue Kettle DAC|# (formerly Blue Kettle Ltd)|# was Blue Kettle Ltd|' +
      '# formerly Dotted Line',
  ],
  [
    'its address in another notation',
    '#, 5 Harbour View Ave, Lr Quay Bus Pk, Wicklow Head, D2|#, 5 Harbour View Avenue, Lower Quay Business Pk, D.2, Co. Dublin|' +
      '#, 5 Harbour View Ave|#, Wicklow Head, Dublin 2|#, 5 Harbour View Avenue, Lower Qu|#, 5 Harbour View Avenue, Dub',
  ],
  ['courtesy', '# please|# thanks|#, many thanks'],
  ['words of a bank', '# SEPA|# SEPA CT Ref 123456|# POS 0412|# REF 0012345'],
  [
    'its Eircode behind the name without a form',
    `Argo Navis ${EIRCODE}|Argo Navis, A67RK73|Argo Navis, ${ADDRESS}, ${EIRCODE}`,
  ],
  ['its address behind the name without a form', 'Argo Navis, 5 Harbour View Avenue, Dublin', E],
  [
    'another identity behind the name without a form',
    'Argo Navis CRO 335801|Argo Navis IE29AIBK93115212345678|Argo Navis, LEI 529900T8BM49AURSDO55|Argo Navis VAT IE6388047V|' +
      'Argo Navis 01 234 5678|Argo Navis Tel: +353 87 123 4567',
  ],
  ['its town and another part of the address', '#, Wicklow Head, 5 Harbour View Avenue|#, Wicklow Head, D2'],
  ['its town and its Eircode', '#, Wicklow Head|#, Co. Dublin', E],
  [
    'the mail of an accountant who is no company',
    '# info@murphyaccountants.ie|# argonavis@gmail.com|# www.argo-navis.ie',
  ],
]

const DOUBTFUL: Case[] = [
  ['an agent alone', '# c/o Murphy & Co|c/o #|# care of Mary Murphy, 1 Mill Road'],
  ['a word beside its Eircode', '# Holdings|# Zwkqx|# 2|# Holdings c/o Murphy & Co', E],
  [
    'a VAT number of another country, or a wrong one',
    '# VAT GB123456789|# VAT DE123456789|# VAT IE0000000|# IE6388047W',
  ],
  ['a telephone number of another country', '# +44 20 7946 0000|# 0044 28 9012 3456|# Tel: +1 212 555 0100'],
  ['an IBAN of another country', '# IBAN GB29 NWBK 6016 1331 9268 19|# DE89370400440532013000'],
  ['an address in the web of another country', '# www.example.co.uk|# info@example.co.uk|# https://www.example.de/a'],
  [
    'the domain of another company',
    '# info@dottedline.ie|# www.dotted-line.com|# polygonstudiosltd.ie|# polygonstudios@gmail.com',
  ],
  [
    'a former name that can be another',
    '# formerly Blue Kettle now Zwkqx|# formerly Blue Kettle Ltd now Zwkqx|# previously with Blue Kettle|# previously Mary Murphy|' +
      '# (formerly known as Zwkqx)|# was Zwkqx|# previously with Blue Kettle Ltd',
  ],
  [
    'a trading name of another',
    '# t/a Zwkqx on behalf of Vexley Trustees|# T/as Zwkqx now Vexley|# trading as Zwkqx as trustee of Y',
  ],
  ['two introduced names', '# t/a Zwkqx formerly Blue Kettle Ltd|# t/a Zwkqx, t/a Vexley'],
  ['an amount without decimals, or of another currency', '# £1|# $1,000.00|# €2|# £500.00|# 250 euro|# €1,000'],
  ['letters and digits in circles, and flags', '# 🅱|# ②|# 🇬🇧|# 🆎|# 🏴'],
  ['its town or county alone', '#, Wicklow Head|# (Dublin)|#, Co. Dublin|#, Dublin 2|#, D2|#, Dublin 2, Co. Dublin'],
  [
    'a number of another register',
    '#. Registered in England No. 335801|# NTRGB-335801|# Registered in Northern Ireland',
  ],
  [
    'a name without its form, its address',
    'Argo Navis, 5 Harbour View Avenue|Argo Navis, Co. Dublin|Argo Navis Dublin 2',
  ],
  ['letters that look Latin', 'Аrgo Nаvis Ltd|Argο Navis'],
  ['another legal form beside its number', '335801 Argo Navis DAC|Argo Navis DAC (CRO 335801)'],
  ['another legal form beside its number in the field', 'Argo Navis DAC', { company_number: '335801' }],
]

describe('a typed name with text', () => {
  let register: TestRegister

  before(async () => {
    register = await openTestRegister(ROWS)
  })

  after(() => register.close())

  const eachOf = (texts: string, given: Given, use: (input: { name: string } & Given) => void) => {
    for (const text of texts.split('|')) use({ name: text.replace('#', 'Argo Navis Ltd'), ...given })
  }
  const statusOf = (input: object) => register.resolve(input).status

  for (const [what, texts, given = {}] of MATCHED)
    it(`[12.10] is matched with ${what}`, () =>
      eachOf(texts, given, (input) => {
        const { status, match } = register.resolve(input)
        expect(status, input.name).to.equal('matched')
        expect(match?.company.company_number).to.equal(OWN.number)
      }))

  for (const [what, texts, given = {}] of DOUBTFUL)
    it(`[12.10] is ambiguous, with its company first, with ${what}`, () =>
      eachOf(texts, given, (input) => {
        const { status, candidates } = register.resolve(input)
        expect(status, input.name).to.equal('ambiguous')
        expect(candidates[0]?.company.company_number, input.name).to.equal(OWN.number)
        expect(candidates[0]?.match_type).to.equal('fuzzy_name')
      }))

  it('[12.4] conflicts with another number in a footer', () => {
    for (const text of [
      '. Registered in Ireland No. 999999',
      ' CRN 999999',
      ' IECRO.999999',
      ', Reg. in Ireland: 999999',
    ])
      expect(register.resolve({ name: `Argo Navis Ltd${text}` }).candidates[0]?.conflicts).to.deep.equal([
        'number_mismatch',
      ])
  })

  it('[12.20] has no company of a number of another register', () => {
    for (const name of ['NTRGB-335801', 'Registered in England No. 335801', 'Registered in Northern Ireland 335801'])
      expect(register.resolve({ name }), name).to.include({ match: null })
  })

  it('[12.10] is the company before c/o, never the one behind it', () => {
    for (const name of [
      'Zwkqx c/o Argo Navis Ltd',
      'Zwkqx Ltd c/o Argo Navis Ltd',
      'Zwkqx Ltd, c/o Argo Navis Ltd, D2',
    ])
      for (const given of [{}, E, { company_number: OWN.number }])
        expect(register.resolve({ name, ...given }), name).to.include({ match: null })
    expect(
      register.resolve({ name: `Argo Navis c/o Dotted Line Ltd, ${EIRCODE}` }).match?.company.company_number,
    ).to.equal(OWN.number)
  })

  it('[12.10] is ambiguous for words of a list that another name has, live or dissolved, whatever the evidence', () => {
    for (const country of [', Ireland', ' (IE)', ', ROI', ' IRL', ', Rep. of Ireland']) {
      const name = `Bed Res Ltd${country}`
      expect(companyNumbers(register.resolve({ name })), name).to.have.members(['400', '401'])
      for (const given of [{}, { eircode: 'D02 X285', address: '1 Quay Road' }])
        expect(statusOf({ name, ...given }), name).to.equal('ambiguous')
    }
    expect(statusOf({ name: 'Genesis Care Ltd, Head Office' })).to.equal('ambiguous')
    expect(statusOf({ name: 'Genesis Care Ltd, Accounts Dept' })).to.equal('matched')
  })

  it('[12.10] is not matched without its form with words of a list', () => {
    for (const text of [' Ireland', ', Ireland', ' Head Office', ' EUR', ' please', ' t/a Blue Kettle', ' €500.00'])
      expect(register.resolve({ name: `Argo Navis${text}` }), text).to.include({ match: null })
    expect(register.resolve({ name: 'Argo Navis Ireland', ...E })).to.include({ match: null })
  })

  it('[12.10] is not matched with "&" or "+" behind it, also with the Eircode', () => {
    for (const name of ['Argo Navis &', 'Argo Navis+', `Argo Navis & ${EIRCODE}`])
      expect(register.resolve({ name, ...E }), name).to.include({ match: null })
  })

  it('[12.10] is not matched without its form with the Eircode of another company', () => {
    expect(statusOf({ name: 'Argo Navis W91 A1A1' })).to.not.equal('matched')
    expect(statusOf({ name: 'Argo Navis Ltd W91 A1A1', ...E })).to.equal('ambiguous')
  })

  it('[12.2] contains an address in another notation of its words', () => {
    const contains = (address: string) =>
      register.resolve({ name: 'Polygon Studios Ltd', address }).candidates[0]?.signals.address_contains
    for (const address of ['1 Sample St', '1 Sample Street', 'Sample St., Naas', 'Naas, Co. Kildare'])
      expect(contains(address), address).to.equal(true)
    for (const address of ['1 Sample S', '1 Sample Road', 'Sample Streets'])
      expect(contains(address), address).to.equal(false)
    expect(register.resolve({ name: 'Argo Navis', address: '5 Harbour View Ave, Lr Quay' }).match?.signals).to.include({
      address_contains: true,
    })
  })

  it('[12.6] has at most one The before it', () => {
    expect(statusOf({ name: 'Lantern Rooms Ltd' })).to.equal('matched')
    expect(register.resolve({ name: 'The The Lantern Rooms Ltd' })).to.include({ match: null })
    expect(register.resolve({ name: 'The Institution of Samples Ltd' }).match?.company.company_number).to.equal('600')
    expect(register.resolve({ name: 'Institution of Samples Ltd' }).match?.company.company_number).to.equal('601')
  })

  it('[12.12] is the one of two companies of its name that has the given Eircode', () => {
    for (const [name, eircode, number] of [
      ['Kappa Twin Ltd', 'Y03 E8N9', '500'],
      ['KAPPA TWIN LIMITED', 'T07 X2H5', '501'],
      ['Kappa Twin', 'T07 X2H5', '501'],
    ] as const) {
      const resolved = register.resolve({ name, eircode })
      expect(resolved.match?.company.company_number).to.equal(number)
      expect(companyNumbers(resolved)).to.deep.equal([number])
      expect(companyNumbers(register.search({ q: name, eircode })).slice(0, 2)).to.have.members(['500', '501'])
    }
    expect(register.resolve({ name: 'Kappa Twin Ltd Y03 E8N9' }).match?.company.company_number).to.equal('500')
    // Without an Eircode on record, of another form, or with an Eircode of none
    expect(companyNumbers(register.resolve({ name: 'Iota Twin Ltd', eircode: 'Y03 E8N9' }))).to.deep.equal([
      '510',
      '511',
    ])
    expect(statusOf({ name: 'Sigma Twin', eircode: 'Y03 E8N9' })).to.equal('ambiguous')
    expect(companyNumbers(register.resolve({ name: 'Kappa Twin Ltd', eircode: 'A67 RK73' }))).to.have.length(2)
    expect(statusOf({ name: 'Kappa Twin Ltd' })).to.equal('ambiguous')
  })

  it('[12.12] keeps the other companies of the name apart', () => {
    const { candidates } = register.search({ q: 'Kappa Twin Ltd', eircode: 'Y03 E8N9', limit: 2 })
    expect(companyNumbers({ candidates: splitNamesakes(candidates).namesakes })).to.deep.equal(['501'])
    expect(splitNamesakes([])).to.deep.equal({ candidates: [], namesakes: [] })
  })

  it('[12.3] is ambiguous if only a search finds a company with its Eircode', () => {
    const asked = { name: 'alfa zwkqx', eircode: 'T07 X2H5' }
    const resolved = register.resolve(asked)
    expect(resolved).to.include({ status: 'ambiguous', match: null })
    const [found] = register.search({ q: asked.name, eircode: asked.eircode, limit: 10 }).candidates
    expect(resolved.candidates).to.deep.equal([found])
    expect(statusOf({ name: asked.name })).to.equal('no_match')
    expect(statusOf({ ...asked, eircode: 'D04 K7X2' })).to.equal('no_match')
  })
})
