/** Names by their joined words: all are found, and no others. */
import { expect } from 'chai'
import fc from 'fast-check'
import { joinedKey } from '../../../store/index/joined-names.ts'
import { anyName, buildIndex, wordsOf } from '../../support/names.ts'

describe('names by their joined words', () => {
  it('ignore "and" and spaces', () => {
    expect(joinedKey(['fish', 'and', 'chip', 'shop'])).to.equal(joinedKey(['fish', 'chipshop']))
    expect(joinedKey(['fish', 'chip'])).not.to.equal(joinedKey(['fish', 'chips']))
    expect(joinedKey(['sand', 'pit'])).to.equal('sandpit')
  })

  it('are all found, in index order', () => {
    const registers = fc.array(anyName, { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(registers, fc.integer({ min: 1, max: 5 }), (register, namesMax) => {
        const index = buildIndex(register)
        const keys = register.map((_, name) => joinedKey(wordsOf(index, name)))
        for (const [name, key] of keys.entries()) {
          const same = keys.flatMap((other, at) => (other === key ? [at] : []))
          const words = [key.slice(0, 2), 'and', key.slice(2)].filter((word) => word !== '')
          expect(index.findJoined(words, { except: undefined, namesMax })).to.deep.equal(same.slice(0, namesMax))
          const others = same.filter((at) => at !== name)
          expect(index.findJoined(words, { except: name, namesMax })).to.deep.equal(others.slice(0, namesMax))
        }
      }),
    )
  })
})
