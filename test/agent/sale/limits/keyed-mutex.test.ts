/** Work for one key runs one at a time, and the waiting work of each client is bounded. */
import { expect } from 'chai'
import { KeyedMutex, WAITERS_MAX } from '../../../../agent/sale/limits/keyed-mutex.ts'

describe('the mutex of a payload', () => {
  let mutex: KeyedMutex
  let release: () => void

  beforeEach(() => {
    mutex = new KeyedMutex()
  })

  function hold(): Promise<string> {
    return mutex.run(
      { key: 'k', client: 'holder' },
      () => new Promise((resolve) => (release = () => resolve('held'))),
      () => 'not run',
    )
  }
  const run = (client: string) =>
    mutex.run(
      { key: 'k', client },
      async (hasWaited) => `waited ${hasWaited}`,
      () => 'not run',
    )

  it('[6.2.4] refuses the 33rd waiting request of a client at once, and not those of another client', async () => {
    expect(WAITERS_MAX).to.equal(32)
    const held = hold()
    const waiting = Array.from({ length: 32 }, () => run('one'))
    expect(await run('one')).to.equal('not run')
    const other = run('other')
    release()
    expect(await held).to.equal('held')
    expect(new Set([...(await Promise.all(waiting)), await other])).to.deep.equal(new Set(['waited true']))
    expect(mutex.isHeld('k')).to.equal(false)
    expect(await run('one')).to.equal('waited false')
  })

  it('runs no waiting work after it is closed', async () => {
    const held = hold()
    const waiting = run('one')
    await new Promise(setImmediate)
    mutex.close()
    release()
    expect([await held, await waiting]).to.deep.equal(['held', 'not run'])
  })

  it('runs the next work after work that fails', async () => {
    const failing = mutex.run(
      { key: 'k', client: 'one' },
      () => Promise.reject(new Error('failed')),
      () => '',
    )
    const next = run('one')
    expect(await failing.catch((cause: Error) => cause.message)).to.equal('failed')
    expect(await next).to.equal('waited true')
  })
})
