/** The unsettled payments of a payer never exceed its balance. */
import { expect } from 'chai'
import { PayerReservations } from '../../../../agent/sale/limits/payer-reservations.ts'
import { leavingClient } from '../../../support/clients.ts'

const [PAYER, SAME, OTHER] = ['0xAB', '0xab', '0xcd']

describe('the reservations of a payer', () => {
  let timeouts: (() => void)[]
  let reservations: PayerReservations
  const { client, leave } = leavingClient()

  beforeEach(() => {
    timeouts = []
    reservations = new PayerReservations((callback) => {
      timeouts.push(callback)
      return () => void (timeouts = timeouts.filter((each) => each !== callback))
    })
  })

  it('[6.2.5] cover each payment beside the others, at and above the balance', () => {
    expect(reservations.reserve(PAYER, { amount: 3n, balance: 5n })).not.to.equal(undefined)
    expect(reservations.reserve(SAME, { amount: 3n, balance: 5n })).to.equal(undefined)
    expect(reservations.reserve(OTHER, { amount: 3n, balance: 5n })).not.to.equal(undefined)
    expect(reservations.reserve(SAME, { amount: 2n, balance: 5n })).not.to.equal(undefined)
    expect(reservations.reserve(SAME, { amount: 1n, balance: 5n })).to.equal(undefined)
  })

  it('leave the first payment to the facilitator, which knows why it refuses', () => {
    expect(reservations.reserve(PAYER, { amount: 3n, balance: 0n })).not.to.equal(undefined)
  })

  it('[6.2.5] tell the next payment when an earlier one ends, and when it has waited too long', async () => {
    const first = reservations.reserve(PAYER, { amount: 3n, balance: 3n })
    const released = reservations.nextRelease(SAME, { milliseconds: 10_000, client })
    expect(timeouts).to.have.lengthOf(1)
    first?.[Symbol.dispose]()
    await released
    expect(timeouts).to.have.lengthOf(0)
    expect(reservations.reserve(SAME, { amount: 3n, balance: 3n })).not.to.equal(undefined)
    const tooLong = reservations.nextRelease(PAYER, { milliseconds: 10_000, client })
    timeouts[0]?.()
    await tooLong
    await reservations.nextRelease(OTHER, { milliseconds: 10_000, client })
  })
  it('[6.2.4] end the wait of a client that leaves, with its timer', async () => {
    reservations.reserve(PAYER, { amount: 3n, balance: 3n })
    const waiting = reservations.nextRelease(SAME, { milliseconds: 10_000, client })
    expect(timeouts).to.have.lengthOf(1)
    leave()
    await waiting
    expect(timeouts).to.have.lengthOf(0)
    await reservations.nextRelease(SAME, { milliseconds: 10_000, client })
  })
})
