/** Things of clients in turn of their address prefixes, and of the prefix that has the most. */
import { expect } from 'chai'
import { PrefixTree } from '../../../../agent/sale/limits/prefix-tree.ts'

describe('the tree of address prefixes', () => {
  let tree: PrefixTree<string>
  beforeEach(() => void (tree = new PrefixTree()))

  const takeAll = () => {
    const taken: (string | undefined)[] = []
    while (tree.size > 0) taken.push(tree.takeNext())
    return taken.join(' ')
  }
  const add = (path: string, ...items: string[]) => {
    for (const item of items) tree.add(path.split(' '), item)
  }

  it('[6.2.7] takes one item of each prefix in turn, and in it one of each address', () => {
    add('A A1', 'a1', 'a2', 'a3')
    add('A A2', 'b1', 'b2')
    add('B B1', 'c1', 'c2')
    expect(takeAll()).to.equal('a1 c1 b1 c2 a2 b2 a3')
    expect(tree.takeNext()).to.equal(undefined)
  })

  it('gives a prefix that comes later its turn after one of every other', () => {
    add('A', 'a1', 'a2', 'a3')
    add('B', 'b1')
    expect(tree.takeNext()).to.equal('a1')
    add('C', 'c1')
    expect(takeAll()).to.equal('b1 a2 c1 a3')
  })

  it('[6.2.7] finds the items of the largest prefix before those of the largest address', () => {
    add('A A1', 'a1')
    add('A A2', 'b1')
    add('A A3', 'c1', 'c2')
    add('B B1', 'd1', 'd2', 'd3')
    expect(tree.largest()).to.deep.equal(['c1', 'c2'])
    expect(tree.largest(['B', 'B1'])).to.deep.equal(['d1', 'd2', 'd3'])
    expect(tree.largest(['C'])).to.deep.equal([])
  })

  it('counts weights, and forgets what is removed', () => {
    tree.add(['A', 'A1'], 'a', 5)
    tree.add(['B', 'B1'], 'b', 3)
    expect([tree.size, tree.sizeOf(['A']), tree.sizeOf(['B', 'B1']), tree.sizeOf(['C'])]).to.deep.equal([8, 5, 3, 0])
    expect(tree.largest()).to.deep.equal(['a'])
    for (const path of [['A', 'A1'], ['A', 'A1'], ['C']]) tree.remove(path, 'a')
    expect([tree.size, ...tree.largest()]).to.deep.equal([3, 'b'])
  })
})
