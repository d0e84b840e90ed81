/** Work for one key runs one at a time. */
import { expect } from 'chai'
import { KeyedMutex } from '../../../../agent/sale/limits/keyed-mutex.ts'

describe('the mutex of a payload', () => {
  let mutex: KeyedMutex
  let release: () => void

  beforeEach(() => {
    mutex = new KeyedMutex()
  })

  function hold(): Promise<string> {
    return mutex.run(
      'k',
      () => new Promise((resolve) => (release = () => resolve('held'))),
      () => 'not run',
    )
  }
  const run = () =>
    mutex.run(
      'k',
      async (hasWaited) => `waited ${hasWaited}`,
      () => 'not run',
    )

  it('[5.6.3] runs one at a time, in the order of the calls, and forgets the key at the end', async () => {
    const held = hold()
    const order: string[] = []
    const waiting = ['1', '2', '3'].map((name) => run().then((result) => order.push(`${name} ${result}`)))
    await new Promise(setImmediate)
    release()
    expect(await held).to.equal('held')
    await Promise.all(waiting)
    expect(order).to.deep.equal(['1 waited true', '2 waited true', '3 waited true'])
    expect(mutex.isHeld('k')).to.equal(false)
    expect(await run()).to.equal('waited false')
  })

  it('runs no waiting work after it is closed', async () => {
    const held = hold()
    const waiting = run()
    await new Promise(setImmediate)
    mutex.close()
    release()
    expect([await held, await waiting]).to.deep.equal(['held', 'not run'])
  })

  it('runs the next work after work that fails', async () => {
    const failing = mutex.run(
      'k',
      () => Promise.reject(new Error('failed')),
      () => '',
    )
    const next = run()
    expect(await failing.catch((cause: Error) => cause.message)).to.equal('failed')
    expect(await next).to.equal('waited true')
  })
})
