/** Search (spec 4.2): who fits best comes first, the same whatever the limit and however it is written. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { SearchResponse } from '../../../agent/operation/result.ts'
import { bodyOf, numbersOf, registerOf, type Row, type TestRegister } from '../../support/companies.ts'
import { anyName } from '../../support/names.ts'

const ROWS: Row[] = [
  { number: '1', name: 'KERRIGAN FOODS LIMITED', eircode: 'D02 X285' },
  { number: '2', name: 'KERRIGAN FOODS DESIGNATED ACTIVITY COMPANY', status: 'Dissolved', dissolved: '2020-01-01' },
  { number: '3', name: 'KERRIGAN FOOD LIMITED', status: 'Strike Off Listed', eircode: 'T12 AB34' },
  { number: '4', name: 'KERRIGAN FARMS LIMITED', status: 'Liquidation' },
  { number: '5', name: 'KERRIGAN LIMITED', status: 'Normal ' },
  { number: '6', name: 'HARRINGTON FOODS LIMITED' },
  { number: '7', name: 'KERRIGAN RETAIL LIMITED' },
  { number: '7', name: 'KERRIGAN RETAIL DAC' },
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
    register = await registerOf(ROWS)
  })

  after(() => register.close())

  const search = (input: unknown): SearchResponse => register.search(input)
  const numbers = (input: unknown) => numbersOf(search(input))

  it('returns equal names first, then similar ones, dissolved ones too', () => {
    const { candidates } = search({ q: 'Kerrigan Foods', limit: 10 })
    expect(candidates.slice(0, 3).map(({ company, match_type }) => [company.company_number, match_type])).to.deep.equal(
      [
        ['1', 'relaxed_name'],
        ['2', 'relaxed_name'],
        ['3', 'fuzzy_name'],
      ],
    )
    const scores = candidates.map(({ score }) => score)
    expect(scores).to.deep.equal(scores.toSorted((one, other) => other - one))
  })

  it('returns five candidates unless it is told how many', () => {
    expect(numbers({ q: 'Lanterna Trading' })).to.have.length(5)
    for (const limit of [1, 3, 10]) expect(numbers({ q: 'Lanterna Trading', limit })).to.have.length(limit)
  })

  it('returns nothing for nothing similar, as an answer to sell', () => {
    expect(search({ q: 'Zyxwvu Tsrqpo' })).to.deep.include({ candidates: [], candidate_limit_reached: false })
  })

  it('leaves quarantined companies out', () => {
    expect(numbers({ q: 'Kerrigan Retail', limit: 10 })).not.to.include('7')
  })

  it('filters by status, ignoring case and blanks', () => {
    for (const status of ['Dissolved', 'dissolved', ' DISSOLVED  '])
      expect(numbers({ q: 'Kerrigan Foods', status }), status).to.deep.equal(['2'])
    for (const status of ['normal ', 'Normal', 'NORMAL'])
      expect(numbers({ q: 'Kerrigan Foods', status, limit: 10 }), status).to.deep.equal(['1', '5', '6'])
    expect(numbers({ q: 'Kerrigan Foods', status: 'strike off listed' })).to.deep.equal(['3'])
    for (const status of ['Norm', 'constructor', 'Dissolved-20 years'])
      expect(numbers({ q: 'Kerrigan Foods', status }), status).to.deep.equal([])
  })

  it('finds ten of a status behind any number of others', () => {
    const found = search({ q: 'Lantern Trading', status: 'dissolved', limit: 10 })
    expect(found.candidates.map(({ company }) => company.status)).to.deep.equal(found.candidates.map(() => 'Dissolved'))
    expect(found.candidates).not.to.have.length(0)
  })

  it('takes an Eircode for evidence, not for a filter', () => {
    const found = search({ q: 'Kerrigan Foods', eircode: 't12 ab34', limit: 10 })
    expect(numbersOf(found)).to.include.members(['1', '2', '3'])
    const signals = new Map(found.candidates.map(({ company, signals: each }) => [company.company_number, each]))
    expect([1, 2, 3].map((each) => signals.get(String(each))?.eircode_exact)).to.deep.equal([false, null, true])
    expect(found.candidates.find(({ company }) => company.company_number === '1')?.conflicts).to.deep.equal([
      'eircode_mismatch',
    ])
    expect(found.candidates.every(({ signals: each }) => each.address_contains === null)).to.equal(true)
  })

  it('echoes query and filters in their canonical form', () => {
    expect(search({ q: '  Kerrigan   FOODS ', status: ' Normal  ', eircode: 'd02 x285' })).to.deep.include({
      query: { q: 'Kerrigan FOODS', limit: 5 },
      filters: { status: 'Normal', eircode: 'D02X285' },
    })
    expect(search({ q: 'Kerrigan' })).not.to.have.property('filters')
    expect(search({ q: 'Kerrigan', eircode: 'd02x285' }).filters).to.deep.equal({ eircode: 'D02X285' })
  })

  const odd: [what: string, q: string][] = [
    ['one word of 160 letters', 'abcdefghij'.repeat(16)],
    ['eighty words of one letter', Array.from({ length: 80 }, () => 'a').join(' ')],
    ['the same word many times', Array.from({ length: 26 }, () => 'foods').join(' ')],
    ['nothing but ampersands around a letter', `a${'&'.repeat(159)}`],
    ['digits alone', '1234567890'.repeat(16)],
    ['a letter under a heap of marks', `kerrigan${'\u0335'.repeat(150)} x`],
    ['emoji', `${'😀'.repeat(150)} x`],
    ['Arabic', 'شركة محدودة'],
    ['Chinese', '株式会社東京食品'],
    ['a letter that becomes eighteen', 'ﷺ'.repeat(8)],
    ['legal forms alone', 'limited limited limited'],
    ['the name of a member of every object', '__proto__ constructor'],
    ['a modifier letter', 'ˀˀˀ'],
  ]
  for (const [what, q] of odd) {
    it(`has an answer to ${what}`, () => {
      const { candidates } = search({ q, limit: 10, eircode: 'D02X285' })
      expect(candidates.every(({ score }) => score < 900)).to.equal(true)
      expect(register.resolve({ name: q, eircode: 'D02X285', address: q }).match).to.equal(null)
      expect(register.resolve({ company_number: '1', name: q }).status).to.equal('conflicting')
    })
  }

  it('refuses what takes too long, without an answer to charge for', () => {
    const prepared = register.prepare('search', { q: 'Kerrigan Foods' }, () => true)
    expect(prepared).to.deep.equal({ kind: 'refused', refusal: { code: 'query_too_broad' } })
  })
})

describe('whatever is asked of any register', () => {
  const rows = fc
    .array(
      fc.record({
        name: anyName,
        status: fc.constantFrom('Normal ', 'Dissolved'),
        eircode: fc.constantFrom('D02 X285', 'T12 AB34', ''),
        address: fc.constantFrom('1 MAIN STREET', ''),
      }),
      { minLength: 60, maxLength: 60 },
    )
    .map((each) => each.map((row, place) => ({ ...row, number: String(place + 1) })))

  /** Of three characters and more, one of which can be read, as the schemas have it. */
  const askedName = anyName.filter((name) => name.length >= 3 && /[\p{L}\p{N}]/u.test(name))
  const evidence = fc.record(
    { eircode: fc.constantFrom('D02X285', 'T12 AB34'), address: fc.constantFrom('main street', 'cork') },
    { requiredKeys: [] },
  )

  /** Forty questions to each of some registers. */
  async function always<Asked>(
    questions: fc.Arbitrary<Asked>,
    holds: (register: TestRegister, asked: Asked) => void,
  ): Promise<void> {
    await fc.assert(
      fc.asyncProperty(rows, fc.array(questions, { minLength: 40, maxLength: 40 }), async (held, asked) => {
        const register = await registerOf(held)
        try {
          for (const each of asked) holds(register, each)
        } finally {
          await register.close()
        }
      }),
      { numRuns: 5, endOnFailure: true, includeErrorInReport: true },
    )
  }

  it('the limit changes neither order nor choice', () =>
    always(fc.tuple(askedName, evidence), (register, [q, { eircode }]) => {
      const all = register.search({ q, limit: 10, ...(eircode && { eircode }) }).candidates
      for (const limit of [1, 2, 5, 9]) {
        const some = register.search({ q, limit, ...(eircode && { eircode }) }).candidates
        expect(some).to.deep.equal(all.slice(0, limit))
      }
    }))

  it('the answer is the same however the name is written', () =>
    always(fc.tuple(askedName, evidence, fc.nat(5)), (register, [name, given, way]) => {
      const { query, ...answer } = register.resolve({ name, ...given })
      const reversed = Object.fromEntries(Object.entries({ name: WAYS[way]!(name), ...given }).toReversed())
      const { query: otherQuery, ...other } = register.resolve(reversed)
      expect(other, `${name} as ${WAYS[way]!(name)}`).to.deep.equal(answer)
      expect(query.name).to.equal(name.trim())
      expect(otherQuery).not.to.equal(undefined)
    }))

  it('the form of the legal suffix changes nothing but strict to relaxed', () =>
    always(fc.tuple(askedName, evidence), (register, [name, given]) => {
      const other = name.replace(/ (?:LIMITED|TEORANTA)$/, ' LTD').replace(/ DESIGNATED ACTIVITY COMPANY$/, ' D.A.C.')
      const [one, two] = [name, other].map((each) => register.resolve({ name: each, ...given }).candidates)
      const unordered = (candidates: SearchResponse['candidates'] = []) =>
        candidates.map(({ company, signals }) => `${company.company_number} ${signals.name_similarity}`).toSorted()
      expect(unordered(one), `${name} as ${other}`).to.deep.equal(unordered(two))
    }))

  it('a match is there exactly for matched, at 900 and 80 clear, without contradiction', () =>
    always(fc.tuple(askedName, evidence), (register, [name, given]) => {
      const { status, match, candidates, candidate_limit_reached } = register.resolve({ name, ...given })
      const [top, next] = candidates
      expect(match !== null).to.equal(status === 'matched')
      expect(status === 'no_match').to.equal(top === undefined)
      if (!match) return
      expect(match).to.deep.equal(top)
      expect(match.score).to.be.within(900, 1000)
      expect(match.score - (next?.score ?? 0)).to.be.at.least(80)
      expect(match.conflicts).not.to.include.members(['eircode_mismatch'])
      expect(candidate_limit_reached).to.equal(false)
    }))

  it('the same input gives the same bytes', () =>
    always(fc.tuple(askedName, evidence), (register, [name, given]) => {
      const bytes = () => bodyOf(register.prepare('resolve', { name, ...given }))
      expect(bytes()).to.equal(bytes())
    }))
})

const FADAS: Record<string, string> = { A: 'Á', E: 'É', I: 'Í', O: 'Ó', U: 'Ú' }

/** Ways to write the same name in normal form. */
const WAYS: ((name: string) => string)[] = [
  (name) => name.toLowerCase(),
  (name) => ` ${name.replaceAll(' ', '   ')} `,
  (name) => name.replace(/[AEIOU]/g, (vowel) => FADAS[vowel] ?? vowel),
  (name) => `"${name}".`,
  (name) => name.replaceAll(' AND ', ' & '),
  (name) => name.replaceAll(' ', ' - '),
]
