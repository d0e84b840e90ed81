/** Sums of amounts by address prefix. */
import { expect } from 'chai'
import fc from 'fast-check'
import { PrefixSums } from '../../../../agent/transport/http/prefix-sums.ts'

interface Item {
  prefixes: string[]
}

const item = (path: string): Item => ({ prefixes: path.split(' ') })

describe('the sums of address prefixes', () => {
  it('count each prefix of an item, and forget those of nothing', () => {
    const sums = new PrefixSums()
    sums.add(item('A A1'), 5)
    sums.add(item('A A2'), 2)
    expect([sums.total, sums.of('A'), sums.of('A1'), sums.of('B')]).to.deep.equal([7, 7, 5, 0])
    sums.add(item('A A1'), -5)
    expect([sums.total, sums.of('A'), sums.of('A1')]).to.deep.equal([2, 2, 0])
  })

  it('[8.15] find the first item of the largest address in the largest wide prefix', () => {
    const sums = new PrefixSums()
    const items = ['B B1', 'A A1', 'A A3', 'A A3', 'A A2', 'C'].map(item)
    expect(sums.firstOfLargest([])).to.equal(undefined)
    expect(sums.firstOfLargest(items)).to.equal(items[0])
    for (const each of items) sums.add(each, 1)
    sums.add(item('B B1'), 2)
    expect(sums.firstOfLargest(items)).to.equal(items[2])
    expect(sums.firstOfLargest([item('C'), items[0]!])).to.equal(items[0])
  })

  it('look at no further item after one of the largest', () => {
    const sums = new PrefixSums()
    const items = ['A A1', 'B B1', 'B B2', 'C C1'].map(item)
    for (const each of items) sums.add(each, 1)
    const looked: object[] = []
    function* watched() {
      for (const each of items) {
        looked.push(each)
        yield each
      }
    }
    expect(sums.firstOfLargest(watched())).to.equal(items[1])
    expect(looked).to.deep.equal(items.slice(0, 2))
    sums.add(items[2]!, -1)
    looked.length = 0
    expect(sums.firstOfLargest(watched())).to.equal(items[0])
    expect(looked).to.deep.equal(items.slice(0, 1))
  })

  it('[8.15] find what a search of all items would find: the first one of the largest', () => {
    const prefixes = fc.constantFrom('A A1', 'A A2', 'B B1', 'B B2', 'C C1').map(item)
    fc.assert(
      fc.property(fc.array(fc.tuple(prefixes, fc.integer({ min: 1, max: 3 }))), fc.array(prefixes), (added, items) => {
        const sums = new PrefixSums()
        for (const [each, amount] of added) sums.add(each, amount)
        for (const [each] of added.slice(0, 2)) sums.add(each, -1)
        const rank = (each: Item) => each.prefixes.map((prefix) => String(sums.of(prefix)).padStart(4)).join(' ')
        const largest = items.map(rank).toSorted().at(-1)
        expect(sums.firstOfLargest(items)).to.equal(items.find((each) => rank(each) === largest))
      }),
    )
  })

  it('[8.15] find an item with an address before one without', () => {
    const sums = new PrefixSums()
    const items = [{ prefixes: [] }, item('A A1')]
    for (const each of items) sums.add(each, 1)
    expect(sums.firstOfLargest(items)).to.equal(items[1])
  })
})
