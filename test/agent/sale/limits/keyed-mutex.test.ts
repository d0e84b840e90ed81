/** One turn of a key at a time. */
import { expect } from 'chai'
import { CLIENTS_MAX, KeyedMutex } from '../../../../agent/sale/limits/keyed-mutex.ts'

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

  it('[5.6.3] admits four clients to a key, and those that have left besides', async () => {
    const mutex = new KeyedMutex()
    let hasLeft = false
    const clients = Array.from({ length: CLIENTS_MAX }, () => mutex.enter('k', () => hasLeft))
    const first = await clients[0]
    expect(await mutex.enter('k', () => false)).to.equal(undefined)
    expect((await mutex.enter('other', () => false))?.hasWaited).to.equal(false)
    hasLeft = true
    const next = mutex.enter('k', () => false)
    first?.[Symbol.dispose]()
    for (const each of clients.slice(1)) (await each)?.[Symbol.dispose]()
    expect((await next)?.hasWaited).to.equal(true)
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
