/** The skill `search`: ranking, filters, evidence and unusual input (contract 4.2 and 12). */
import { expect } from 'chai'
import type { SearchResponse } from '../../../agent/operation/search.ts'
import { companyNumbers, openTestRegister, toRows, type Row, type TestRegister } from '../../support/companies.ts'

const ROWS: Row[] = [
  { number: '1', name: 'KERRIGAN FOODS LIMITED', eircode: 'D02 X285' },
  { number: '2', name: 'KERRIGAN FOODS DESIGNATED ACTIVITY COMPANY', status: 'Dissolved', dissolved: '2020-01-01' },
  { number: '3', name: 'KERRIGAN FOOD LIMITED', status: 'Strike Off Listed', eircode: 'T12 AB34' },
  { number: '4', name: 'KERRIGAN FARMS LIMITED', status: 'Liquidation' },
  { number: '5', name: 'KERRIGAN LIMITED', status: 'Normal ' },
  { number: '6', name: 'HARRINGTON FOODS LIMITED' },
  ...Array.from({ length: 30 }, (_, each) => ({
    number: String(100 + each),
    name: `LANTERN${'ABCDE'[each % 5]} ${['TRADING', 'RETAIL', 'HOLDINGS'][each % 3]} LIMITED`,
    status: each % 4 === 0 ? 'Dissolved' : 'Normal ',
    eircode: each % 2 === 0 ? 'D02 X285' : '',
  })),
]

describe('search', () => {
  let register: TestRegister

  before(async () => {
    register = await openTestRegister(ROWS)
  })

  after(() => register.close())

  const search = (input: unknown): SearchResponse => register.search(input)
  const numbers = (input: unknown) => companyNumbers(search(input))

  it('[4.2.1] returns five candidates by default and up to `limit`', () => {
    expect(numbers({ q: 'Lanterna Trading' })).to.have.length(5)
    for (const limit of [1, 3, 10]) expect(numbers({ q: 'Lanterna Trading', limit })).to.have.length(limit)
  })

  it('[2.6] returns query and filters in canonical form', () => {
    expect(search({ q: '  Kerrigan   FOODS ', status: ' Normal  ', eircode: 'd02 x285' })).to.deep.include({
      query: { q: 'Kerrigan FOODS', limit: 5 },
      filters: { status: 'Normal', eircode: 'D02X285' },
    })
    expect(search({ q: 'Kerrigan' })).not.to.have.property('filters')
  })

  it('[4.2.5] filters by status, ignoring case and outer spaces', () => {
    for (const status of ['Dissolved', 'dissolved', ' DISSOLVED  '])
      expect(numbers({ q: 'Kerrigan Foods', status }), status).to.deep.equal(['2'])
    for (const status of ['normal ', 'Normal', 'NORMAL'])
      expect(numbers({ q: 'Kerrigan Foods', status, limit: 10 }), status).to.deep.equal(['1', '5', '6'])
    expect(numbers({ q: 'Kerrigan Foods', status: 'strike off listed' })).to.deep.equal(['3'])
    for (const status of ['Norm', 'constructor', 'Dissolved-20 years'])
      expect(numbers({ q: 'Kerrigan Foods', status }), status).to.deep.equal([])
  })

  it('[4.2.5] treats an Eircode as evidence and not as a filter', () => {
    const found = search({ q: 'Kerrigan Foods', eircode: 't12 ab34', limit: 10 })
    expect(companyNumbers(found)).to.include.members(['1', '2', '3'])
    const signals = new Map(found.candidates.map(({ company, signals: each }) => [company.company_number, each]))
    expect([1, 2, 3].map((each) => signals.get(String(each))?.eircode_exact)).to.deep.equal([false, null, true])
    expect(found.candidates.find(({ company }) => company.company_number === '1')?.conflicts).to.deep.equal([
      'eircode_mismatch',
    ])
    expect(found.candidates.every(({ signals: each }) => each.address_contains === null)).to.equal(true)
  })

  const unusual: [what: string, q: string][] = [
    ['one word of 160 letters', 'abcdefghij'.repeat(16)],
    ['one letter and ampersands', `a${'&'.repeat(159)}`],
    ['a letter with 150 combining marks', `kerrigan${'\u0335'.repeat(150)} x`],
    ['emoji', `${'😀'.repeat(150)} x`],
    ['Chinese', '株式会社東京食品'],
    ['a character that NFKC expands to eighteen', 'ﷺ'.repeat(8)],
    ['only legal forms', 'limited limited limited'],
    ['names of built-in object members', '__proto__ constructor'],
  ]
  for (const [what, q] of unusual) {
    it(`answers ${what}`, () => {
      const { candidates } = search({ q, limit: 10, eircode: 'D02X285' })
      expect(candidates.every(({ score }) => score < 900)).to.equal(true)
      expect(register.resolve({ name: q, eircode: 'D02X285', address: q }).match).to.equal(null)
      expect(register.resolve({ company_number: '1', name: q }).status).to.equal('conflicting')
    })
  }
})

describe('a search as a person types it', () => {
  const NAMES = [
    'TESCO CORPORATE TREASURY SERVICES EUROPE LIMITED',
    'DESCO LIMITED',
    'TEDCO FOODS LIMITED',
    'KERRY PURE LIMITED',
    'GP HORTICULTURAL ENTERPRISES KERRY LIMITED',
    'MURPHY CONSTRUCTION LIMITED',
    'MURPHY CONSULTING LIMITED',
    'MURPHY CONSTRUCT LIMITED',
    'MURPHI CONSTRUCTION LIMITED',
    'DUBLIN BUS SERVICES LIMITED',
    'BUS DUBLIN SERVICES LIMITED',
    'CLEARPOINT POWER LIMITED',
    'ELECTRICITY SUPPLY BOARD',
    'ESC LIMITED',
    'FIRST CORPORATE TREASURY LIMITED',
    ...Array.from({ length: 40 }, (_, each) => `${'ABCDEFGHIJ'[each % 10]}${'KLMN'[each % 4]}ORD GROUP LIMITED`),
    ...Array.from({ length: 20 }, (_, each) => `RT${'ABCDEFGHIJ'[each % 10]}${each} TRADING LIMITED`),
    ...Array.from({ length: 14 }, (_, each) => `ES${'ABCDFGHIJKLMNO'[each]} TRADING LIMITED`),
  ]
  let register: TestRegister

  before(async () => {
    register = await openTestRegister(toRows(NAMES))
  })

  after(() => register.close())

  const found = (q: string) =>
    register.search({ q, limit: 10 }).candidates.map(({ company, score }) => ({ name: company.legal_name, score }))
  const names = (q: string) => found(q).map(({ name }) => name)

  it('[12.13] lists names that contain every word before names that need a correction', () => {
    expect(names('Tesco').slice(0, 2)).to.deep.equal([NAMES[0], NAMES[1]])
    const [first, second] = found('Tesco')
    expect(first?.score).to.be.within(524, 543)
    expect(second?.score).to.be.at.most(453)
  })

  it('[12.13] gives a name its similarity of a resolution if it lacks little, unless another name contains every word', () => {
    const [alone] = found('Murphy Constructoin')
    const [resolved] = register.resolve({ name: 'Murphy Constructoin' }).candidates
    expect(alone).to.deep.equal({ name: 'MURPHY CONSTRUCTION LIMITED', score: resolved?.score })
    expect(alone?.score).to.be.above(750)
    // The same name after one that is equal.
    const beside = found('Murphi Construction').find(({ name }) => name === 'MURPHY CONSTRUCTION LIMITED')
    expect(beside?.score).to.be.within(429, 453)
    // Every word and little more.
    expect(found('Dublin Bus Service')[0]?.score).to.be.above(800)
  })

  it('[12.13] gives a rare abbreviation the weight of its common form', () => {
    expect(names('Kerry Group')[0]).to.equal('KERRY PURE LIMITED')
  })

  it('[12.13, 12.14] completes the last word, after names that have it whole', () => {
    expect(names('Murphy Construct').slice(0, 2)).to.deep.equal([NAMES[7], NAMES[5]])
    expect(names('Murphy Con').slice(0, 3)).to.have.members(NAMES.slice(5, 8))
    // Two letters are enough after another word, and three without one.
    expect(names('Murphy Co').slice(0, 3)).to.have.members(NAMES.slice(5, 8))
    for (const query of ['Murphy C', 'Mur Co'])
      for (const { score } of found(query)) expect(score, query).to.be.at.most(453)
    for (const query of ['Murphy Co', 'Murphy Con'])
      for (const { score } of found(query).slice(0, 3)) expect(score).to.be.within(501, 522)
  })

  it('[12.14, 12.22] does not complete the last word of a name with a legal form, and of a resolution with doubt', () => {
    for (const query of ['Murphy Con', 'Murphy Co']) {
      expect(found(query)[0]?.score).to.be.at.least(501)
      for (const { score } of found(`${query} Limited`)) expect(score).to.be.below(501)
    }
    for (const { score } of register.resolve({ name: 'Murphy Cons' }).candidates) expect(score).to.be.within(595, 779)
    expect(register.resolve({ name: 'Tesco' }).candidates.map(({ company }) => company.legal_name)).not.to.include(
      NAMES[0],
    )
  })

  it('[12.19] finds names as they are copied from the web, with a plural, or with their letters', () => {
    for (const query of [
      'https://www.solocheck.ie/Irish-Company/Dublin-Bus-Services-335801',
      '<b>D&uacute;blin&nbsp;Bus Services</b>',
      'Dublin Bus Services formerly known as Qxzkvw',
      'dublin busservice s',
    ])
      expect(names(query)[0], query).to.equal('DUBLIN BUS SERVICES LIMITED')
    expect(names('First Corporate Treasuries')[0]).to.equal('FIRST CORPORATE TREASURY LIMITED')
  })

  it('[12.14] splits words that are written together, and joins words that are written apart', () => {
    expect(names('dublinbusservices')).to.deep.equal(['DUBLIN BUS SERVICES LIMITED'])
    expect(names('Dublinbus Services')[0]).to.equal('DUBLIN BUS SERVICES LIMITED')
    expect(names('clear point power')[0]).to.equal('CLEARPOINT POWER LIMITED')
  })
})
