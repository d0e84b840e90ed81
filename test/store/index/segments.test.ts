/** Splitting a word into words of the register. */
import { expect } from 'chai'
import { segmentWord } from '../../../store/index/containing.ts'
import { buildIndex, unlimited } from '../../support/names.ts'

const split = (names: readonly string[], word: string) => segmentWord(buildIndex(names), word, unlimited())

describe('splitting a word', () => {
  it('[12.14] finds words of the register that make up the whole word, common words first', () => {
    const names = ['DUBLIN BUS SERVICES LIMITED', 'DUBLIN BUSS ERVICES LIMITED', 'DUBLIN SERVICES LIMITED']
    expect(split(names, 'dublinbusservices')).to.deep.equal(['dublin', 'bus', 'services'])
    expect(split(names, 'dublinbusservicez')).to.deep.equal([])
    expect(split(names, 'services')).to.deep.equal([])
  })

  it('splits neither a word of five letters nor one of 49', () => {
    const names = ['AB LIMITED', 'ABA LIMITED', 'A LIMITED', 'AAAAAAA LIMITED']
    expect(split(names, 'ababa')).to.deep.equal([])
    expect(split(names, 'ababab')).not.to.deep.equal([])
    expect(split(names, 'aaaaaaa'.repeat(7))).to.deep.equal([])
    expect(split(names, 'aaaaaaa'.repeat(6))).not.to.deep.equal([])
  })
})
