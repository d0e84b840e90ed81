/** Items of clients in turn of their address prefixes, and the newest one of the prefix that has the most. */
import { expect } from 'chai'
import { PrefixTree, REMEMBERED_MAX } from '../../../../agent/sale/limits/prefix-tree.ts'

interface Item {
  prefixes: string[]
  name: string
}

const item = (path: string, name: string): Item => ({ prefixes: path.split(' '), name })
const named = (items: Iterable<Item>) => Array.from(items, ({ name }) => name).join(' ')

describe('the tree of address prefixes', () => {
  let tree: PrefixTree<Item>
  beforeEach(() => void (tree = new PrefixTree()))

  const add = (path: string, ...names: string[]) => {
    for (const name of names) tree.add(item(path, name))
  }
  const takeAll = () => {
    const taken: Item[] = []
    for (let next; (next = tree.takeNext()); taken.push(next));
    return named(taken)
  }

  it('[6.2.9] takes one item of each prefix in turn, and in it one of each address', () => {
    add('A A1', 'a1', 'a2', 'a3')
    add('A A2', 'b1', 'b2')
    add('B B1', 'c1', 'c2')
    expect(takeAll()).to.equal('a1 c1 b1 c2 a2 b2 a3')
    expect([tree.takeNext(), tree.size]).to.deep.equal([undefined, 0])
  })

  it('[6.2.9] gives a prefix without a recent turn its first before those with one', () => {
    add('A', 'a1', 'a2', 'a3')
    add('B', 'b1')
    expect(tree.takeNext()?.name).to.equal('a1')
    add('C', 'c1', 'c2')
    expect(takeAll()).to.equal('b1 c1 a2 c2 a3')
  })

  it('[6.2.9] remembers the turn of a prefix that comes back at once', () => {
    add('A A1', 'a1')
    add('B B1', 'b1', 'b2', 'b3')
    expect([tree.takeNext()?.name, tree.takeNext()?.name]).to.deep.equal(['a1', 'b1'])
    add('A A2', 'a2', 'a3')
    add('C C1', 'c1')
    expect(takeAll()).to.equal('c1 b2 a2 b3 a3')
  })

  it('gives the others a turn for each that waits, although new ones come without end', () => {
    add('A', 'a1', 'a2')
    const taken: Item[] = []
    for (let at = 0; at < 6; at += 1) {
      taken.push(tree.takeNext() as Item)
      add(`new${at}`, 'new')
    }
    expect(named(taken)).to.equal('a1 new new a2 new new')
  })

  it('forgets which prefixes had turns when no item is left', () => {
    add('A', 'a1')
    expect(takeAll()).to.equal('a1')
    add('A', 'a2')
    add('B', 'b1')
    expect(takeAll()).to.equal('a2 b1')
  })

  for (const { others, order } of [
    { others: REMEMBERED_MAX - 1, order: 'b1 a2' },
    { others: REMEMBERED_MAX, order: 'a2 b1' },
  ])
    it(`remembers ${REMEMBERED_MAX} prefixes without items: after ${others} others, the next turns are ${order}`, () => {
      for (let at = 0; at <= others; at += 1) {
        add(at === 0 ? 'A' : `other${at}`, 'first')
        expect(tree.takeNext()?.name).to.equal('first')
      }
      add('A', 'a2')
      add('B', 'b1')
      expect(takeAll()).to.equal(order)
    })

  it('does not return an item that was removed', () => {
    const removed = [item('A A1', 'a1'), item('A A1', 'a2'), item('B', 'b1')]
    for (const each of removed) tree.add(each)
    add('A A1', 'a3')
    for (const each of removed) tree.remove(each)
    expect([tree.size, takeAll()]).to.deep.equal([1, 'a3'])
  })

  it('[6.2.9] finds the newest item of the largest address in the largest wide prefix', () => {
    expect(tree.newestOfLargest()).to.equal(undefined)
    add('B B1', 'd1', 'd2', 'd3')
    add('A A1', 'a1')
    add('A A3', 'c1', 'c2')
    add('A A2', 'b1')
    expect(tree.newestOfLargest()?.name).to.equal('c2')
  })
})
