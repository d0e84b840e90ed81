/** Places for work: in turn of the address prefixes, bounded, and given up by clients that leave. */
import { expect } from 'chai'
import { WAITING_MAX, WorkQueue } from '../../../../agent/sale/limits/work-queue.ts'
import { leavingClient, makeClient } from '../../../support/clients.ts'

/** The next work begins in a later iteration of the event loop. */
async function turn(): Promise<void> {
  for (let iteration = 0; iteration < 2; iteration += 1) await new Promise(setImmediate)
}

describe('the places for work', () => {
  let begun: string[]
  let ends: (() => void)[]

  beforeEach(() => {
    begun = []
    ends = []
  })

  /** Begins work that lasts until the test ends it. Resolves with whether it was begun. */
  async function work(queue: WorkQueue, client: Parameters<WorkQueue['enter']>[0], name: string): Promise<boolean> {
    using place = await queue.enter(client)
    if (!place) return false
    begun.push(name)
    await new Promise<void>((resolve) => ends.push(resolve))
    return true
  }
  async function endAll(): Promise<string> {
    for (; ends.length > 0; await turn()) ends.shift()?.()
    return begun.join('')
  }

  it('[6.2.4] go to the addresses in turn: ten of A and then one of B begin with A and B', async () => {
    const queue = new WorkQueue(1)
    const [a, b] = [makeClient('192.0.2.1'), makeClient('192.0.2.2')]
    const all = Array.from('AAAAAAAAAA', (name) => work(queue, a, name))
    all.push(work(queue, b, 'B'))
    await turn()
    expect(await endAll()).to.equal('AABAAAAAAAA')
    expect(new Set(await Promise.all(all))).to.deep.equal(new Set([true]))
  })

  it('[6.2.4] are bounded, and free after work that fails', async () => {
    const queue = new WorkQueue(2)
    const all = ['1', '2', '3'].map((name) => work(queue, makeClient(name), name))
    await turn()
    expect(begun).to.deep.equal(['1', '2'])
    expect(await endAll()).to.equal('123')
    await Promise.all(all)
    const fail = async () => {
      using _ = await queue.enter(makeClient())
      throw new Error('failed')
    }
    for (let attempt = 0; attempt < 3; attempt += 1) expect(await fail().catch(() => 'failed')).to.equal('failed')
    expect(await queue.enter(makeClient())).not.to.equal(undefined)
  })

  it('[6.2.4] are not waited for by a client that has left, which leaves nothing behind', async () => {
    const queue = new WorkQueue(1)
    const { client, leave, callbacks } = leavingClient()
    const first = work(queue, makeClient('other'), '1')
    const waiting = [work(queue, client, 'gone'), work(queue, client, 'gone')]
    const next = work(queue, makeClient('another'), '2')
    await turn()
    leave()
    expect(await Promise.all(waiting)).to.deep.equal([false, false])
    expect([queue.waiting, callbacks.size]).to.deep.equal([1, 0])
    expect(await queue.enter(client)).to.equal(undefined)
    expect(await endAll()).to.equal('12')
    expect(await Promise.all([first, next])).to.deep.equal([true, true])
    expect(queue.waiting).to.equal(0)
  })

  it('[6.2.4] refuse the newest entry of the prefix with the most when too many wait', async () => {
    const queue = new WorkQueue(0)
    const attackers = Array.from({ length: WAITING_MAX }, (_, index) =>
      queue.enter({ ...makeClient(), prefixes: ['attack', String(index % 20)] }),
    )
    const refused: number[] = []
    for (const [index, attack] of attackers.entries()) void attack.then(() => refused.push(index))
    void queue.enter({ ...makeClient(), prefixes: ['buyers', '1'] }).then(() => refused.push(-1))
    await turn()
    expect(refused).to.deep.equal([WAITING_MAX - 20])
    expect(queue.waiting).to.equal(WAITING_MAX)
  })

  it('let the event loop run before the next work', async () => {
    const queue = new WorkQueue(1)
    const all = ['1', '2'].map((name) => work(queue, makeClient(name), name))
    await turn()
    ends.shift()?.()
    // All promises that can are settled before the next tick.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    expect(begun).to.deep.equal(['1'])
    await turn()
    expect(begun).to.deep.equal(['1', '2'])
    ends.shift()?.()
    await all[1]
  })
})
