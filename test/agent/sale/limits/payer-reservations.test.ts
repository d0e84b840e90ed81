/** The unsettled payments of a payer never exceed its balance. */
import { expect } from 'chai'
import { PayerReservations } from '../../../../agent/sale/limits/payer-reservations.ts'

const [PAYER, SAME, OTHER] = ['0xAB', '0xab', '0xcd']

describe('the reservations of a payer', () => {
  let reservations: PayerReservations
  beforeEach(() => void (reservations = new PayerReservations()))

  it('[6.2.5] cover each payment beside the others, at and above the balance', () => {
    const first = reservations.reserve(PAYER, { amount: 3n, balance: 5n })
    expect(reservations.reserve(SAME, { amount: 3n, balance: 5n })).to.equal(undefined)
    expect(reservations.reserve(OTHER, { amount: 3n, balance: 5n })).not.to.equal(undefined)
    expect(reservations.reserve(SAME, { amount: 2n, balance: 5n })).not.to.equal(undefined)
    expect(reservations.reserve(SAME, { amount: 1n, balance: 5n })).to.equal(undefined)
    first?.[Symbol.dispose]()
    expect(reservations.reserve(SAME, { amount: 4n, balance: 5n })).to.equal(undefined)
    expect(reservations.reserve(SAME, { amount: 3n, balance: 5n })).not.to.equal(undefined)
  })

  it('leave the first payment to the facilitator, which knows why it refuses', () => {
    const first = reservations.reserve(PAYER, { amount: 3n, balance: 0n })
    expect(first).not.to.equal(undefined)
    first?.[Symbol.dispose]()
    expect(reservations.reserve(SAME, { amount: 3n, balance: 0n })).not.to.equal(undefined)
  })
})
