/** What a person reads on a terminal in place of a body. */
import { expect } from 'chai'
import { candidateRows } from '../../buyer/candidate-row.ts'
import { toReadable } from '../../buyer/readable-answer.ts'
import type { HistoryResponse } from '../../agent/operation/history.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import type { ResolveResponse } from '../../agent/operation/resolve.ts'

const linesOf = (name: string) =>
  toReadable(name, OPERATIONS.find((each) => each.name === name)?.exampleAnswer('mainnet')) ?? []

describe('[14.5] an answer on a terminal', () => {
  const resolution = OPERATIONS.find(({ name }) => name === 'resolve')?.exampleAnswer('mainnet') as ResolveResponse
  const [first] = resolution.candidates

  it('is a card for a company, with a line for each value', () => {
    expect(linesOf('lookup').map((line) => line.split(/ {2,}/)[0])).to.include.members([
      'company_number',
      'legal_name',
      'registered_address',
    ])
    expect(linesOf('as_of')).to.deep.equal(linesOf('lookup'))
  })

  it('begins with the verdict of a resolution, and is a table of a search, a history and changes', () => {
    expect(linesOf('resolve')[0]).to.match(/^matched: [0-9]+ EXAMPLE /)
    expect(linesOf('search')[0]).to.equal('1 candidate.')
    expect(linesOf('search')[1]).to.match(/^number +name +status +address +eircode +registered_date +score +reason/)
    expect(linesOf('history')[0]).to.match(/^from +until +state +name/)
    expect(linesOf('changes')[0]).to.match(/^date +number +kind +name/)
  })

  it('says why a resolution found nothing, and which records are near: of the register and of earlier files', () => {
    const lines = toReadable('resolve', {
      ...resolution,
      status: 'no_match',
      match: null,
      candidates: [],
      explanation: 'No company has this name.',
      related: [{ company_number: '1', legal_name: 'ONE LIMITED', status: null, relation: 'similar' }],
      past: {
        complete_since: '2026-01-01',
        companies: [
          { company_number: '22', legal_name: 'TWO LIMITED', relation: 'former_name', until: '2026-02-03' },
          { company_number: '3', legal_name: 'TWO', relation: 'removed', until: '2026-02-04' },
        ],
      },
    })
    expect(lines).to.deep.equal([
      'no_match',
      'No company has this name.',
      '1   ONE LIMITED  has a similar name',
      '22  TWO LIMITED  had this name until 2026-02-03',
      '3   TWO          in the register until 2026-02-04',
    ])
    expect(toReadable('resolve', { ...resolution, match: null, candidates: [], past: null })).to.have.length(2)
  })

  it('tells two equal names apart by number, status, address and date of registration', () => {
    const twin = (company_number: string) => ({
      ...first!,
      company: { ...first!.company, company_number, status: `Status ${company_number}` },
    })
    const candidates = ['1', '2'].map(twin)
    const lines = toReadable('resolve', { ...resolution, status: 'ambiguous', match: null, candidates })
    const { registered_address, registered_date } = first!.company
    expect(lines?.slice(3).map((line) => line.split(/ {2,}/).toSpliced(1, 1))).to.deep.equal(
      ['1', '2'].map((number) => [
        number,
        `Status ${number}`,
        registered_address.lines.join(', '),
        registered_address.eircode,
        registered_date,
        String(first!.score),
        'another company has the same name',
      ]),
    )
  })

  it('names the reason that decides against a candidate: words around a name, or a company that is too near', () => {
    const reasonsOf = (name: string, legal_name: string, ...scores: number[]) => {
      const candidateOf = (score: number, index: number) => ({
        ...first!,
        company: { ...first!.company, company_number: String(index), legal_name },
        score,
        match_type: score < 850 ? ('fuzzy_name' as const) : ('relaxed_name' as const),
        signals: { ...first!.signals, name_similarity: 0.9165 },
      })
      return candidateRows({ match: null, query: { name }, candidates: scores.map(candidateOf) }).map(
        ({ reason }) => reason,
      )
    }
    for (const [query, legal, reason] of [
      ['Example Trading Ltd, Cork Bakery', 'EXAMPLE TRADING LIMITED', 'the query also has "cork bakery"'],
      ['Example Ltd', 'EXAMPLE TRADING LIMITED', 'the name also has "trading"'],
      ['Exampel Trading', 'EXAMPLE TRADING LIMITED', 'the name is only 91 % similar'],
    ] as const)
      expect(reasonsOf(query, legal, 779), query).to.deep.equal([reason])
    const twin = 'another company has the same name'
    expect(reasonsOf('Foo', 'FOO LIMITED', 1000, 921)).to.deep.equal([twin, twin])
    expect(reasonsOf('Foo', 'FOO LIMITED', 1000, 920)).to.deep.equal(['no Eircode confirms it', twin])
  })

  it('is one sentence of what fits and what leaves a doubt, without points', () => {
    const candidateOf = (legal_name: string, company_number: string, eircode_exact: boolean | null) => ({
      ...first!,
      company: { ...first!.company, legal_name, company_number },
      score: 960,
      match_type: 'relaxed_name' as const,
      signals: { ...first!.signals, eircode_exact, address_contains: eircode_exact },
    })
    const reasonsOf = (...candidates: ReturnType<typeof candidateOf>[]) =>
      candidateRows({ match: null, query: { name: 'Foo' }, candidates }).map(({ reason }) => reason)
    expect(reasonsOf(candidateOf('FOO LIMITED', '1', true), candidateOf('FOO DAC', '2', null))).to.deep.equal([
      'Eircode and address fit, and another company has the same name',
      'another company has the same name',
    ])
    expect(reasonsOf(candidateOf('FOO LIMITED', '1', null), candidateOf('FOO BAR LIMITED', '2', null))).to.deep.equal([
      'another company has a similar name',
      'another company has a similar name',
    ])
  })

  it('shows the values before and after a change in a history', () => {
    const answer = OPERATIONS.find(({ name }) => name === 'history')?.exampleAnswer('testnet') as HistoryResponse
    const [version] = answer.versions
    const status = { ...version!, company: { ...version!.company!, status: 'Dissolved' }, changed: ['status'] }
    expect(toReadable('history', { ...answer, versions: [version, status] })?.at(-2)).to.match(
      / {2}status: Normal → Dissolved$/,
    )
  })

  it('is a line for each result of a batch', () => {
    expect(linesOf('batch').map((line) => line.split(/ {2,}/).slice(0, 2))).to.deep.equal([
      ['status', 'number'],
      ['200', '999999'],
      ['404', 'company_not_found'],
    ])
  })
})
