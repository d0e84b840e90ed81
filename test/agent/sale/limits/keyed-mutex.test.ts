/** One turn of a key at a time. */
import { expect } from 'chai'
import { KeyedMutex } from '../../../../agent/sale/limits/keyed-mutex.ts'

describe('the mutex of a payload', () => {
  it('[5.6.3] gives one turn at a time, in the order of the calls, and forgets the key at the end', async () => {
    const mutex = new KeyedMutex()
    const held = await mutex.enter('k')
    expect(held?.hasWaited).to.equal(false)
    const order: string[] = []
    const waiting = ['1', '2', '3'].map(async (name) => {
      using turn = await mutex.enter('k')
      order.push(`${name} waited ${turn?.hasWaited}`)
      await new Promise(setImmediate)
      order.push(`${name} ends`)
    })
    await new Promise(setImmediate)
    expect(order).to.deep.equal([])
    held?.[Symbol.dispose]()
    await Promise.all(waiting)
    expect(order).to.deep.equal(['1', '2', '3'].flatMap((name) => [`${name} waited true`, `${name} ends`]))
    expect(mutex.isHeld('k')).to.equal(false)
    expect((await mutex.enter('k'))?.hasWaited).to.equal(false)
  })

  it('begins no turn after it is closed', async () => {
    const mutex = new KeyedMutex()
    const held = await mutex.enter('k')
    const waiting = mutex.enter('k')
    mutex.close()
    held?.[Symbol.dispose]()
    expect(await waiting).to.equal(undefined)
    expect(mutex.isHeld('k')).to.equal(false)
  })
})
