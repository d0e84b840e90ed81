/** The benchmark's own normaliser, legal forms and reference answers. */
import { expect } from 'chai'
import { benchCompany } from '../../support/bench-company.ts'
import { fold, joined, partsOf } from './names.ts'
import { ReferenceRegister } from './register.ts'

describe('the reference normaliser', () => {
  const SAME = [
    ['Café Ḃán  LTD', 'CAFE BAN LTD'],
    ["O'BRIEN", 'OBRIEN'],
    ['O\u2019BRIEN', 'OBRIEN'],
    ['A.B.C. FOODS', 'ABC FOODS'],
    ['A B C FOODS', 'ABC FOODS'],
    ["O'BRIEN", 'O BRIEN'],
    ['MC CANN', 'MCCANN'],
    ['SMITH AGUS SON', 'SMITH & SON'],
    ['SMITH & SON', 'Smith and Son'],
    ['FISH+CHIPS', 'FISH AND CHIPS'],
    ['ANY-WHERE (CORK), LTD.', 'any where cork ltd'],
  ] as const
  for (const [one, other] of SAME) {
    it(`makes ${one} and ${other} equal`, () => expect(fold(one)).to.equal(fold(other)))
  }

  it('keeps names with other letters or spaces different', () => {
    expect(fold('ANY WHERE')).not.to.equal(fold('ANYWHERE'))
    expect(fold('A B FOODS')).not.to.equal(fold('A BFOODS'))
    expect(fold('MCCANN. SONS')).to.equal('mccann sons')
  })

  it('does not join a surname prefix with a legal form', () => {
    expect(partsOf('CREANE MC LTD')).to.deep.equal({ core: 'CREANE MC', surface: 'LTD', form: 'ltd' })
    expect(fold('TEACH O DAC')).to.equal('teach odac')
  })

  const PARTS = [
    ['ACME LIMITED', 'ACME', 'ltd'],
    ['ACME  (IRELAND) Ltd.', 'ACME (IRELAND)', 'ltd'],
    ['CLO 3, DESIGNATED ACTIVITY COMPANY', 'CLO 3', 'dac'],
    ['CAIRDE COMPANY LIMITED BY GUARANTEE', 'CAIRDE', 'clg'],
    ['CAIRDE CUIDEACHTA FAOI THEORAINN RÁTHAÍOCHTA', 'CAIRDE', 'clg'],
    ['ACME P.L.C.', 'ACME', 'plc'],
    ['ACME PUBLIC LIMITED COMPANY', 'ACME', 'plc'],
    ['ACME UNLIMITED COMPANY', 'ACME', 'uc'],
    ['LIMITED', 'LIMITED', undefined],
    ['THE LAND AGENCY', 'THE LAND AGENCY', undefined],
  ] as const
  for (const [name, core, form] of PARTS) {
    it(`splits ${name}`, () => {
      expect(partsOf(name)).to.include({ core, form })
      expect(fold(joined(partsOf(name)))).to.equal(fold(name))
    })
  }
})

describe('the reference answers', () => {
  const register = new ReferenceRegister([
    benchCompany('1', 'ACME LIMITED'),
    benchCompany('2', 'ACME DAC'),
    benchCompany('3', 'BOLG TEORANTA'),
    benchCompany('4', 'THE LAND AGENCY'),
  ])

  const NAMED = [
    ['acme ltd.', ['1']],
    ['ACME', ['1', '2']],
    ['ACME PLC', []],
    ['BOLG LIMITED', ['3']],
    ['THE LAND AGENCY', ['4']],
    ['THE LAND AGENCY LIMITED', []],
  ] as const
  for (const [query, numbers] of NAMED) {
    it(`has ${numbers.length} companies for ${query}`, () => expect(register.named(query)).to.deep.equal(numbers))
  }

  it('treats names with other legal forms as different', () => {
    expect(register.sameName('ACME LIMITED')).to.deep.equal(['1'])
  })
})
