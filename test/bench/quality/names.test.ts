/** The bench's own naming rules: which names are one name, and whom a query names. */
import { expect } from 'chai'
import { aListed } from '../../support/listed.ts'
import { fold, joined, partsOf } from './names.ts'
import { Register } from './register.ts'

describe('the bench reads names', () => {
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
    it(`as one: ${one} and ${other}`, () => expect(fold(one)).to.equal(fold(other)))
  }

  it('as two, where letters differ or a space does', () => {
    expect(fold('ANY WHERE')).not.to.equal(fold('ANYWHERE'))
    expect(fold('A B FOODS')).not.to.equal(fold('A BFOODS'))
    expect(fold('MCCANN. SONS')).to.equal('mccann sons')
  })

  it('with the surname`s beginning apart from a legal form', () => {
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
    it(`in parts: ${name}`, () => {
      expect(partsOf(name)).to.include({ core, form })
      expect(fold(joined(partsOf(name)))).to.equal(fold(name))
    })
  }
})

describe('a query names', () => {
  const register = new Register([
    aListed('1', 'ACME LIMITED'),
    aListed('2', 'ACME DAC'),
    aListed('3', 'BOLG TEORANTA'),
    aListed('4', 'THE LAND AGENCY'),
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
    it(`${query}: ${numbers.length} companies`, () => expect(register.named(query)).to.deep.equal(numbers))
  }

  it('only companies of the same form as the same name', () => {
    expect(register.sameName('ACME LIMITED')).to.deep.equal(['1'])
  })
})
