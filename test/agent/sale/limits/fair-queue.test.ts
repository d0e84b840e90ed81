/** Tasks of many addresses: a bounded number at once, and the address with the fewest running first. */
import { expect } from 'chai'
import { FairQueue } from '../../../../agent/sale/limits/fair-queue.ts'

describe('the queue of verifications', () => {
  let ends: Map<string, () => void>
  let started: string[]

  beforeEach(() => {
    ends = new Map()
    started = []
  })

  const task = (queue: FairQueue, address: string, name: string, fails = false) =>
    queue.run(address, () => {
      started.push(name)
      return new Promise<string>((resolve, reject) =>
        ends.set(name, () => (fails ? reject(new Error(name)) : resolve(name))),
      )
    })
  const turn = () => new Promise(setImmediate)

  it('[6.2.4] runs a bounded number of tasks, and next one of the address that has the fewest running', async () => {
    const queue = new FairQueue(2)
    const attacks = ['a1', 'a2', 'a3', 'a4'].map((name) => task(queue, 'attacker', name))
    const bought = task(queue, 'buyer', 'b1')
    await turn()
    expect(started).to.deep.equal(['a1', 'a2'])
    ends.get('a1')?.()
    await turn()
    expect(started).to.deep.equal(['a1', 'a2', 'b1'])
    ends.get('b1')?.()
    expect(await bought).to.equal('b1')
    await turn()
    expect(started).to.deep.equal(['a1', 'a2', 'b1', 'a3'])
    for (const name of ['a2', 'a3', 'a4']) {
      ends.get(name)?.()
      await turn()
    }
    expect(await Promise.all(attacks)).to.deep.equal(['a1', 'a2', 'a3', 'a4'])
  })

  it('starts the next task after one that fails', async () => {
    const queue = new FairQueue(1)
    const failing = task(queue, 'one', 'first', true).catch((cause: Error) => cause.message)
    const next = task(queue, 'two', 'second')
    await turn()
    ends.get('first')?.()
    expect(await failing).to.equal('first')
    await turn()
    ends.get('second')?.()
    expect(await next).to.equal('second')
  })
})
