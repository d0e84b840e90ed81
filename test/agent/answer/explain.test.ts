/** What answers with candidates say of themselves: explanation, next, differs_in and related (contract 2.13, 12.5). */
import { expect } from 'chai'
import { explainResolution } from '../../../agent/answer/explain.ts'
import { openTestRegister, type TestRegister } from '../../support/companies.ts'

const ROWS = [
  { number: '1', name: 'ALPHA SAMPLE TRADING LIMITED', eircode: 'D01AA11' },
  { number: '2', name: 'BETA SAMPLE HOLDINGS LIMITED', eircode: 'D02BB22' },
  { number: '3', name: 'IOTA SAMPLE TWIN LIMITED' },
  { number: '4', name: 'IOTA SAMPLE TWIN LIMITED' },
  { number: '5', name: 'KAPPA SAMPLE TWIN LIMITED', eircode: 'D03CC33' },
  { number: '6', name: 'KAPPA SAMPLE TWIN LIMITED', eircode: 'D04DD44' },
  { number: '7', name: 'OMEGA SAMPLE TRADING LIMITED' },
]

describe('[2.6, 2.7, 2.13, 12.5, 12.12] an answer with candidates', () => {
  let register: TestRegister
  before(async () => void (register = await openTestRegister(ROWS)))
  after(() => register.close())

  const ask = (input: object) => {
    const { status, explanation, next, differs_in, related } = register.resolve(input)
    const others = related.map(({ relation, company_number }) => `${relation} ${company_number}`)
    return { status, explanation, next, differs_in, related: others }
  }

  it('has nothing to do after a match', () => {
    const found = ask({ name: 'Alpha Sample Trading Ltd' })
    expect(found).to.include({ status: 'matched', next: 'nothing' })
    expect([found.differs_in, found.related]).to.deep.equal([[], []])
    expect(found.explanation).to.match(/^The first candidate has [0-9]+ points\.$/)
    const other = { name: 'Alpha Sample Trading Ltd', address: 'No Such Street' }
    expect(ask(other)).to.include({ status: 'matched', next: 'nothing' })
    expect(ask(other).explanation).to.match(/points\. Its record does not confirm the given address\.$/)
  })

  it('names the members in which the nearest candidates differ, and the evidence that could decide', () => {
    const same = ask({ name: 'Iota Sample Twin Ltd' })
    expect(same).to.include({ status: 'ambiguous', next: 'choose' })
    expect(same.differs_in).to.deep.equal(['company_number'])
    expect(same.explanation).to.contain('differ in nothing but company_number')
    const twins = ask({ name: 'Kappa Sample Twin Ltd' })
    expect(twins.differs_in).to.include('registered_address')
    expect(twins).to.include({ status: 'ambiguous', next: 'add_eircode' })
  })

  it('advises evidence only where its points could make a match', () => {
    expect(ask({ name: 'Omega Sampel Tradng' })).to.include({ next: 'choose' })
  })

  it('names the evidence that contradicts, and the other company of the name', () => {
    const conflict = ask({ name: 'Alpha Sample Trading Ltd', company_number: '2' })
    expect(conflict).to.include({ status: 'conflicting', next: 'correct_number' })
    expect(conflict.explanation).to.contain('name_mismatch')
    expect(conflict.related).to.deep.equal(['same_name 1'])
    expect(ask({ name: 'Alpha Sample Trading Ltd', eircode: 'D09XX99' })).to.include({ next: 'correct_eircode' })
  })

  it('names the company of the same name that the given Eircode leaves out, beside the match', () => {
    const found = ask({ name: 'Kappa Sample Twin Ltd', eircode: 'D03 CC33' })
    expect(found).to.include({ status: 'matched', next: 'nothing' })
    expect(found.related).to.deep.equal(['same_name 6'])
    const { candidates } = register.resolve({ name: 'Kappa Sample Twin Ltd', eircode: 'D03 CC33' })
    expect(candidates.map(({ company }) => company.company_number)).to.deep.equal(['5'])
    expect(ask({ name: 'Iota Sample Twin Ltd', company_number: '3' }).related).to.deep.equal(['same_name 4'])
  })

  it('lists what a search shows if there is no match', () => {
    const none = ask({ name: 'Sample Trading' })
    expect(none).to.include({ status: 'no_match', next: 'search' })
    expect(none.related).to.include.members(['similar 1', 'similar 7'])
    const nothing = { related: [], explanation: 'No company has this name.', next: 'nothing' }
    expect(ask({ name: 'Zzqq Wwxx' })).to.deep.include(nothing)
    expect(register.search({ q: 'Zzqq Wwxx' }).candidates).to.deep.equal([])
    const decided = { status: 'no_match', query: { name: 'Zzqq' }, candidate_limit_reached: false } as const
    const tooBroad = { registers: [], namesakes: [], search: () => undefined }
    expect(explainResolution({ ...decided, candidates: [] }, tooBroad)).to.include({ next: 'search' })
  })

  it('says of a search whether more can exist', () => {
    const search = (input: object) => {
      const { explanation, next } = register.search(input)
      return `${next}: ${explanation}`
    }
    expect(search({ q: 'sample', limit: 2 })).to.equal('choose: 2 candidates, best first. More can exist beyond limit.')
    expect(search({ q: 'alpha sample trading' })).to.match(/^choose: (?:1 candidate|[2-9] candidates, best first)\.$/)
    expect(search({ q: 'Zzqq Wwxx' })).to.equal('nothing: No company has such a name.')
  })
})
